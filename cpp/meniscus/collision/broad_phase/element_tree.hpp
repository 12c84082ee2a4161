/// Box tree over elements of vertices (vertices, edges or triangles), with their corners in the lanes of the leaves.
#pragma once

#include "meniscus/mesh/search/box_tree.hpp"

#include <vector>

namespace meniscus::collision {

/// The box of both positions of each vertex, m. With inflation > 0 (m), it grows by that much on each side, rounded outward.
void swept_boxes(std::span<const mesh::Point> start, std::span<const mesh::Point> end, double inflation,
                 std::span<mesh::Box> out);

class ElementTree : private mesh::BoxTree {
 public:
  ElementTree() = default;

  /// A tree over elements of `corners_per_element` vertices each (1, 2 or 3); `corners` holds them one element after the other.
  /// The positions are those of the boxes of the vertices. Without elements in it before the first `build`.
  ElementTree(std::span<const std::int32_t> corners, int corners_per_element);

  /// Sorts the elements along the curve, and refits.
  void build(std::span<const mesh::Box> vertex_boxes, Workspace& workspace);

  /// Sets new boxes of the same vertices; the grouping of elements into leaves does not change.
  void refit(std::span<const mesh::Box> vertex_boxes);

  using mesh::BoxTree::count;
  using mesh::BoxTree::elements;
  using mesh::BoxTree::leaf;
  using mesh::BoxTree::Leaf;
  using mesh::BoxTree::leaf_box;
  using mesh::BoxTree::leaves;
  using mesh::BoxTree::levels;
  using mesh::BoxTree::looseness;
  using mesh::BoxTree::node;
  using mesh::BoxTree::Node;
  using mesh::BoxTree::size;

  /// Corner k of the elements of a leaf, -1 where there is none.
  const std::int32_t* corners(Index leaf, int k) const {
    return corner_lanes_.data() + (leaf * corners_per_element_ + k) * mesh::lanes;
  }
  int corners_per_element() const { return corners_per_element_; }

  /// Bytes held.
  Index nbytes() const;

 private:
  Index count_ = 0;
  int corners_per_element_ = 1;
  std::vector<std::int32_t> element_corners_;
  std::vector<std::int32_t> corner_lanes_;
};

}  // namespace meniscus::collision
