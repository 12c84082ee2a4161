/// Binary tree of axis-aligned boxes over primitives of any kind, in Morton order.
///
/// Source: Lauterbach et al., "Fast BVH construction on GPUs", 2009 (linear bounding volume hierarchies: nodes split where the
/// Morton codes of their primitives first differ).
#pragma once

#include "meniscus/mesh/search/box.hpp"

#include <vector>

namespace meniscus::mesh {

/// The tree does not depend on the number of threads. Nodes lie level by level, the two children of a node side by side.
class BoundingVolumeTree {
 public:
  /// Primitives of a leaf, at most.
  static constexpr Index leaf_size = 4;

  struct Node {
    Box box;
    /// The primitives of the node: positions [first, first + count) in `order()`.
    std::int32_t first = 0;
    std::int32_t count = 0;
    /// The first of the two children, or 0 for a leaf.
    std::int32_t child = 0;
    bool leaf() const { return child == 0; }
  };

  /// A tree over one box per primitive; without primitives it has no nodes.
  explicit BoundingVolumeTree(std::span<const Box> boxes);

  /// Sets new boxes of the same primitives; the grouping of primitives into nodes does not change.
  void refit(std::span<const Box> boxes);

  /// The root comes first.
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(std::int32_t i) const { return nodes_[i]; }
  /// The primitives in the order of the leaves.
  std::span<const std::int32_t> order() const { return order_; }
  /// Begin of each level in `nodes()`, and the end of the last; children are on later levels than their parents.
  std::span<const Index> levels() const { return levels_; }

  /// Calls leaf(node) for all leaves that satisfy enter(node index, node), as do all their ancestors.
  template <class Enter, class Leaf>
  void traverse(Enter&& enter, Leaf&& leaf) const {
    if (nodes_.empty()) return;
    std::array<std::int32_t, max_depth> stack;
    std::size_t top = 0;
    stack[top++] = 0;
    while (top > 0) {
      const std::int32_t i = stack[--top];
      const Node& n = node(i);
      if (!enter(i, n)) continue;
      if (n.leaf()) {
        leaf(n);
      } else {
        stack[top++] = n.child + 1;
        stack[top++] = n.child;
      }
    }
  }

  /// Calls leaf(node) for the leaves with bound(box) <= limit, those with a smaller bound first where two children differ. `leaf`
  /// may lower the limit.
  template <class Bound, class Leaf>
  void traverse_nearest(const double& limit, Bound&& bound, Leaf&& leaf) const {
    if (nodes_.empty()) return;
    struct Entry {
      std::int32_t node;
      double bound;
    };
    std::array<Entry, max_depth> stack;
    std::size_t top = 0;
    Entry current{0, bound(nodes_[0].box)};
    for (;;) {
      if (current.bound <= limit) {
        const Node& n = node(current.node);
        if (!n.leaf()) {
          Entry near{n.child, bound(node(n.child).box)};
          Entry far{n.child + 1, bound(node(n.child + 1).box)};
          if (far.bound < near.bound) std::swap(near, far);
          if (far.bound <= limit) stack[top++] = far;
          current = near;
          continue;
        }
        leaf(n);
      }
      if (top == 0) return;
      current = stack[--top];
    }
  }

 private:
  /// 63 bits of Morton code and, where codes are equal, halving of fewer than 2^31 primitives.
  static constexpr std::size_t max_depth = 63 + 31 + 2;

  void split_levels(std::span<const std::uint64_t> codes);

  std::vector<Node> nodes_;
  std::vector<std::int32_t> order_;
  std::vector<Index> levels_;
};

}  // namespace meniscus::mesh
