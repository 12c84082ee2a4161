/// Convex polyhedra that begin as a tetrahedron and are clipped by half-spaces.
///
/// Vertices and their links form a planar graph in which every vertex has three neighbours. A clip decides once for each vertex
/// on which side it lies and then works on the graph alone, so the surface stays closed whatever rounding does to these
/// decisions: shared planes, edges and corners need no special cases, and errors stay of the size of rounding.
///
/// Source: Sugihara, "A robust and consistent algorithm for intersecting convex polyhedra", 1994 (topology first); Powell and
/// Abel, "An exact general remeshing scheme applied to physically conservative voxelization", 2015, section 2 (graph of degree
/// three).
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

namespace meniscus::mesh {

/// Volume, m^3, and its first moment (volume times centroid), m^4.
struct VolumeMoment {
  double volume = 0;
  Point moment = Point::Zero();
};

/// A convex polyhedron of fixed capacity; nothing is allocated. Coordinates are used as they are: a polyhedron that is small
/// compared with its distance from the origin is best given relative to a point near it.
class ConvexPolyhedron {
 public:
  /// A clip at most doubles the number of vertices, however inconsistent rounding is: any five half-spaces fit. Without such
  /// trouble each adds two vertices.
  static constexpr int most_vertices = 128;

  /// A tetrahedron of any orientation. Face k is the one opposite of corner k.
  explicit ConvexPolyhedron(const std::array<Point, 4>& corners);

  /// Cuts off what lies in normal . x > offset. The i-th clip, counted from 0, may leave face 4 + i. The normal need not be a
  /// unit vector. Throws InvalidArgument beyond the capacity.
  void clip(const Point& normal, double offset);

  bool empty() const { return size_ == 0; }

  /// Number of vertices; several may lie at one place.
  int size() const { return size_; }
  const Point& vertex(int i) const { return position_[i]; }

  /// Whether a part of a face is left, be it of no area.
  bool has_face(int face) const;

  /// Never negative; of a flat tetrahedron 0 up to rounding.
  VolumeMoment measure() const;
  double volume() const { return measure().volume; }

  /// Of a polyhedron without a volume, one of its vertices. Must not be empty.
  Point centroid() const;

 private:
  using Links = std::array<std::uint8_t, 3>;

  void link_cut(int first, int end, const std::array<Links, most_vertices>& ends);

  int size_ = 4;
  int faces_ = 4;
  std::array<Point, most_vertices> position_;
  // Neighbours, counter-clockwise as seen from outside, and the face between each and the next.
  std::array<Links, most_vertices> link_;
  std::array<Links, most_vertices> face_;
};

}  // namespace meniscus::mesh
