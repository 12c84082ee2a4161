/// Exact tests that an operation on a surface leaves it without intersections, and passes nothing.
///
/// An operation replaces a patch of the surface by another one with the same rim. It sweeps the space between both, which is a
/// sum of tetrahedra with signs. If no new triangle meets another one, a part of the surface that is in this space lies there as
/// a whole. So it is enough to test that no vertex is in one of the tetrahedra, nor the middle of a triangle whose corners are
/// all on the rim. This is as strict as a test of the motion, and needs no time.
///
/// Source: Brochu 2012, sections 3.2.3 and 3.2.4 (tests of pseudo-motions; of the tetrahedron of a flip).
#pragma once

#include "meniscus/collision/broad_phase/element_grid.hpp"
#include "meniscus/mesh/dynamic/dynamic_surface.hpp"

namespace meniscus::surface {

/// A tetrahedron between the triangle abc of the surface and the point d, positive where the surface gains volume, and the
/// vertices that belong to the operation: what is in the place of these does not count. Unused places hold -2.
struct SweptTet {
  mesh::Point a, b, c, d;
  std::array<std::int32_t, 8> own;

  double volume() const { return (d - a).dot((b - a).cross(c - a)) / 6; }
};

/// Triangles that do not belong to the surface and that it must not touch.
struct Obstacles {
  std::vector<mesh::Point> vertices;
  std::vector<mesh::Triangle> triangles;
};

class SurfaceGuard {
 public:
  /// `surface` and `obstacles` must live as long as the guard is used.
  void watch(const mesh::DynamicSurface& surface, const Obstacles& obstacles);

  /// Whether none of the triangles, which are new or have moved, meets another one. Edges and triangles with a common vertex do
  /// not count, but triangles that lie on each other beside a common edge do.
  bool apart(std::span<const std::int32_t> triangles);

  /// Whether no vertex lies in one of the tetrahedra, and no triangle between vertices of theirs that is not among `changed`.
  bool nothing_within(std::span<const SweptTet> tets, std::span<const std::int32_t> changed);

  /// Follows a change of the surface: triangles that are gone, and those that are new or have moved.
  void follow(std::span<const std::int32_t> gone, std::span<const std::int32_t> changed);

  /// Calls f(t) for each triangle near a box; some may be gone.
  template <class F>
  void for_each_near(const mesh::Box& box, F&& f) const {
    grid_.for_each_overlap(box, f);
  }

  mesh::Box box_of(std::int32_t t) const;

  Index nbytes() const { return grid_.nbytes() + obstacle_grid_.nbytes() + static_cast<Index>(listed_.capacity()); }

 private:
  bool meet(std::int32_t t, std::int32_t u) const;

  const mesh::DynamicSurface* surface_ = nullptr;
  const Obstacles* obstacles_ = nullptr;
  collision::ElementGrid grid_, obstacle_grid_;
  std::vector<std::uint8_t> listed_;
  std::vector<std::int32_t> near_, own_;
};

}  // namespace meniscus::surface
