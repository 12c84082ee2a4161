/// Point location in a moving tetrahedral mesh: exact, so that every point of the union belongs to exactly one tetrahedron.
///
/// Of several closed tetrahedra that hold a point, it belongs to that of the lowest rank, and among these to the one with the
/// lowest number. So a point on a face, an edge or a vertex belongs to the first that touches it, and a mesh that folds onto
/// itself is searched in a fixed order. Tetrahedra without volume and those with a negative rank hold nothing; inverted ones hold
/// what lies between their corners.
///
/// Source: location by a walk across faces, with a search tree as the last resort (see Devillers, Pion and Teillaud, "Walking in
/// a triangulation", 2002; the tree is that of box_tree.hpp).
#pragma once

#include "meniscus/collision/point_location/tet_point.hpp"
#include "meniscus/mesh/search/box_tree.hpp"

namespace meniscus::collision {

struct TetLocation {
  /// Number of the tetrahedron; -1 outside of all.
  std::int32_t tet = -1;
  TetWeights weights{};
};

class TetLocator {
 public:
  /// Copies its arguments. `ranks` has one value per tetrahedron, or is empty. With `overlapping` false, the caller promises that
  /// no two tetrahedra have inner points in common, at no time; then a walk from a hint may decide.
  TetLocator(std::span<const mesh::Point> vertices, std::span<const mesh::Tet> tets, std::span<const std::int32_t> ranks,
             bool overlapping);

  /// Sets new positions of the same vertices.
  void move(std::span<const mesh::Point> vertices);

  /// `hint` is the number of a tetrahedron close by, or -1. The result does not depend on it.
  TetLocation locate(const mesh::Point& p, std::int32_t hint) const;

  /// The same for many, in parallel. Without hints, the search for each point starts where the previous one was found.
  void locate(std::span<const mesh::Point> points, std::span<const std::int32_t> hints, std::span<std::int32_t> tets,
              std::span<TetWeights> weights) const;

  Index size() const { return static_cast<Index>(tets_.size()); }

 private:
  void place();
  TetCorners corners(std::int32_t t) const;
  bool walk(const mesh::Point& p, std::int32_t hint, TetLocation& found) const;
  TetLocation search(const mesh::Point& p) const;
  bool before(std::int32_t a, std::int32_t b) const;

  std::vector<mesh::Point> vertices_;
  std::vector<mesh::Tet> tets_;
  std::vector<std::int32_t> ranks_;
  bool overlapping_;
  /// Across face k; -1 where there is none, or more than one.
  std::vector<mesh::Tet> neighbours_;
  /// 0 for tetrahedra that contain nothing.
  std::vector<std::int8_t> orientation_;
  std::vector<mesh::Box> boxes_;
  mesh::BoxTree tree_;
};

/// Throws InvalidArgument that names the first corner that is no vertex.
void require_valid_tets(std::span<const mesh::Tet> tets, std::size_t vertices);

}  // namespace meniscus::collision
