/// Places in and around a body of tetrahedra: which of its nodes move them, and by how much.
///
/// A place in the body moves with the corners of its tetrahedron, so that a rigid motion of the nodes is one of all places, and
/// an impulse at a place has the same momentum and angular momentum on the nodes. One outside moves with the tetrahedron behind
/// the closest point of the surface, as far out as this is deep, half at most: beyond, as the place there.
#pragma once

#include "meniscus/collision/point_location/tet_location.hpp"
#include "meniscus/mesh/search/triangle_tree.hpp"

namespace meniscus::fluids {

struct PlaceNodes {
  std::array<std::int32_t, 4> nodes{};
  std::array<double, 4> weights{};
};

class NodePlaces {
 public:
  /// Part of the depth of a tetrahedron to which its motion is extrapolated.
  static constexpr double reach = 0.5;

  /// Copies its arguments. Throws InvalidArgument for tetrahedra and triangles whose corners are no nodes.
  NodePlaces(std::span<const mesh::Point> nodes, std::span<const mesh::Tet> tets, std::span<const mesh::Triangle> surface);

  /// Sets new positions of the nodes.
  void move(std::span<const mesh::Point> nodes);

  PlaceNodes at(const mesh::Point& p) const;
  /// out[i] = component `axis` at points[i] of velocities of the nodes, in parallel.
  void velocities(std::span<const mesh::Point> points, std::span<const mesh::Point> nodes, int axis, std::span<double> out) const;

  Index count() const { return static_cast<Index>(nodes_.size()); }
  const mesh::Point& node(std::int32_t i) const { return nodes_[i]; }

 private:
  PlaceNodes outside(const mesh::Point& p) const;

  std::vector<mesh::Point> nodes_;
  std::vector<mesh::Tet> tets_;
  std::vector<mesh::Triangle> surface_;
  /// The tetrahedron behind each triangle; -1: none.
  std::vector<std::int32_t> behind_;
  collision::TetLocator locator_;
  mesh::TriangleTree tree_;
};

}  // namespace meniscus::fluids
