/// Packed box tree for collision: elements of one kind along a space-filling curve, eight per leaf, eight children per node.
///
/// The tree has no pointers: leaf i holds the elements [8 i, 8 i + 8) of the curve, node i of a level holds the nodes [8 i, 8 i +
/// 8) of the level below. So a build is a sort, a refit is a pass over the levels, and eight boxes are tested at once. The boxes
/// of the elements are stored in double precision; those of the nodes are rounded to the nearest floats. Rounding is monotone:
/// two boxes that overlap still overlap when both are rounded, so queries with rounded boxes miss nothing.
///
/// Source: Kamel and Faloutsos, "On packing R-trees", 1993 (packing along a Hilbert curve); Skilling, "Programming the Hilbert
/// curve", 2004.
#pragma once

#include "meniscus/collision/broad_phase/box_lanes.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/mesh/search/bounding_volume_tree.hpp"

#include <vector>

namespace meniscus::collision {

/// The box of both positions of each vertex, m. With inflation > 0 (m), it grows by that much on each side, rounded outward.
void swept_boxes(std::span<const mesh::Point> start, std::span<const mesh::Point> end, double inflation,
                 std::span<mesh::Box> out);

class PackedBoxTree {
 public:
  using Node = BoxLanes<float>;
  using Leaf = BoxLanes<double>;

  PackedBoxTree() = default;

  /// A tree over elements of `corners_per_element` vertices each (1, 2 or 3); `corners` holds them one element after the other.
  /// The positions are those of the boxes of the vertices.
  PackedBoxTree(std::span<const std::int32_t> corners, int corners_per_element);

  /// Sorts the elements along the curve, and refits.
  void build(std::span<const mesh::Box> vertex_boxes, Workspace& workspace);

  /// Sets new boxes of the same vertices; the grouping of elements into leaves does not change.
  void refit(std::span<const mesh::Box> vertex_boxes);

  /// Looseness of the leaves: the sum of the edge lengths of the boxes of all leaves divided by that of all elements. It grows
  /// when elements that share a leaf move apart.
  double looseness() const;

  Index size() const { return size_; }
  Index leaves() const { return (size_ + lanes - 1) / lanes; }
  /// Elements in a leaf.
  int count(Index leaf) const { return static_cast<int>(std::min<Index>(lanes, size_ - leaf * lanes)); }
  /// Boxes of the elements of a leaf; lanes without an element hold NaN.
  const Leaf& leaf(Index i) const { return leaves_[i]; }
  const mesh::Box& leaf_box(Index i) const { return leaf_boxes_[i]; }
  /// Numbers of the elements of a leaf, -1 where there is none.
  const std::int32_t* elements(Index leaf) const { return elements_.data() + leaf * lanes; }
  /// Corner k of the elements of a leaf, -1 where there is none.
  const std::int32_t* corners(Index leaf, int k) const {
    return corner_lanes_.data() + (leaf * corners_per_element_ + k) * lanes;
  }
  int corners_per_element() const { return corners_per_element_; }

  /// Levels of nodes above the leaves: level 0 has the boxes of the leaves, and the last level is one node.
  int levels() const { return static_cast<int>(level_start_.size()) - 1; }
  const Node& node(int level, Index i) const { return nodes_[level_start_[level] + i]; }

  /// Bytes held.
  Index nbytes() const;

 private:
  mesh::Box element_box(std::int32_t element, std::span<const mesh::Box> vertex_boxes) const;
  void lay_out_levels();

  Index size_ = 0;
  int corners_per_element_ = 1;
  std::vector<std::int32_t> element_corners_;
  std::vector<std::int32_t> elements_;
  std::vector<std::int32_t> corner_lanes_;
  std::vector<Leaf> leaves_;
  std::vector<mesh::Box> leaf_boxes_;
  std::vector<Node> nodes_;
  std::vector<Index> level_start_;
};

}  // namespace meniscus::collision
