/// Bounding volume tree over the triangles of a mesh, with their corners stored in the order of the leaves.
#pragma once

#include "meniscus/mesh/search/bounding_volume_tree.hpp"

namespace meniscus::mesh {

class TriangleTree {
 public:
  /// Copies the positions; the mesh need not outlive the constructor.
  explicit TriangleTree(const TriangleMeshView& mesh);

  /// Sets new positions of the same vertices.
  void refit(const TriangleMeshView& mesh);

  const BoundingVolumeTree& volumes() const { return volumes_; }
  /// Corners of the triangle at a slot, that is, a position in the order of the leaves.
  const std::array<Point, 3>& corners(Index slot) const { return corners_[slot]; }
  /// The triangle at a slot.
  std::int32_t triangle(Index slot) const { return volumes_.order()[slot]; }
  Index size() const { return static_cast<Index>(corners_.size()); }
  /// The largest magnitude of a coordinate, m: the scale of round-off in positions.
  double largest_coordinate() const { return largest_coordinate_; }

 private:
  void gather(const TriangleMeshView& mesh);

  BoundingVolumeTree volumes_;
  std::vector<std::array<Point, 3>> corners_;
  double largest_coordinate_ = 0;
};

}  // namespace meniscus::mesh
