/// Orientation of surfaces as files hold them: which triangles count, and which of them are the wrong way round.
///
/// Sources: Jacobson, Kavan and Sorkine-Hornung, "Robust inside-outside segmentation using generalized winding numbers", 2013,
/// section 3 (surfaces have to be oriented first); Van Oosterom and Strackee, "The solid angle of a plane triangle", 1983.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <vector>

namespace meniscus::mesh {

/// Solid angle of a triangle seen from p, over 4 pi; positive where p sees its back. On its plane 0, the mean of the two sides.
double winding_contribution(const Point& p, const Point& a, const Point& b, const Point& c);

/// Triangles in patches: connected over edges that two triangles have, and turned so that those pass the edge in opposite
/// directions.
///
/// Of triangles with the same three corners one counts. If their number is even and both sides of the surface go on around all of
/// them, as at a wall between two boxes or at a fin, none does: the surface is closed without them.
///
/// A patch is turned as most of its area is, and then outward: the volume of the cones from its centroid to its triangles becomes
/// positive. A patch that lies within another one is turned with that one, so that a cavity stays a cavity. Where the volume is
/// nothing but round-off, as that of a plane sheet, a patch stays as it is.
class SurfaceOrientation {
 public:
  explicit SurfaceOrientation(const TriangleMeshView& mesh);

  /// For each triangle 1 or, where it is the wrong way round, -1; 0 where it does not count.
  const std::vector<signed char>& sides() const { return sides_; }
  /// The same with new positions of the vertices, of the same patches within each other.
  std::vector<signed char> sides(const TriangleMeshView& mesh) const;

  /// Triangles that do not count because others have the same corners.
  Index doubled() const { return doubled_; }
  /// Edges whose two triangles pass them in the same direction whichever way they are turned: those of one-sided surfaces.
  Index one_sided_edges() const { return one_sided_; }

 private:
  struct Patch {
    /// Its triangles in `order_`.
    Index first = 0, last = 0;
    /// The patch around it, -1 if there is none; larger ones come first in `by_volume_`.
    std::int32_t parent = -1;
  };

  void leave_out_copies(std::span<const Triangle> triangles);
  void turn_neighbours(const TriangleMeshView& mesh);
  void find_parents(const TriangleMeshView& mesh);
  /// Turns patches as most of their area is, and returns their volumes, 0 where they are round-off.
  std::vector<double> volumes(const TriangleMeshView& mesh) const;
  bool within(const TriangleMeshView& mesh, const Patch& inner, const Patch& outer) const;

  std::vector<signed char> sides_;
  std::vector<std::int32_t> order_;
  std::vector<Patch> patches_;
  std::vector<std::int32_t> by_volume_;
  Index doubled_ = 0;
  Index one_sided_ = 0;
};

}  // namespace meniscus::mesh
