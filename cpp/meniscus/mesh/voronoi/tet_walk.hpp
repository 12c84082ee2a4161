/// Location of points in Delaunay tetrahedra by walking.
#pragma once

#include "meniscus/mesh/search/box.hpp"
#include "meniscus/mesh/triangulation/delaunay.hpp"

#include <vector>

namespace meniscus::mesh {

/// Where a point is among tetrahedra.
struct TetPlace {
  std::int32_t tet;
  /// Barycentric coordinates; not below zero by more than rounding.
  std::array<double, 4> weight;
};

/// Walks through Delaunay tetrahedra, which end for any point in their hull, with exact signs. A lattice of starts makes them
/// short. Tetrahedra and points have to outlive the walk.
class TetWalk {
 public:
  TetWalk() = default;
  /// `box` holds most of the points that will be asked for; the first `sites` points are in it.
  void build(const LinkedTets& linked, std::span<const Point> points, Index sites, const Box& box);

  /// A tetrahedron that is probably near.
  std::int32_t start(const Point& p) const { return starts_[cell(p)]; }
  /// The tetrahedron around a point of the hull, from another one on.
  std::int32_t walk(const Point& p, std::int32_t from) const;
  TetPlace place(const Point& p, std::int32_t from) const;

  Index nbytes() const { return static_cast<Index>(starts_.capacity() * sizeof(std::int32_t)); }

 private:
  Index cell(const Point& p) const;

  std::span<const Tet> tets_, neighbours_;
  std::span<const Point> points_;
  Box box_;
  Coord<3> cells_{1, 1, 1};
  Point per_cell_ = Point::Zero();
  std::vector<std::int32_t> starts_;
};

}  // namespace meniscus::mesh
