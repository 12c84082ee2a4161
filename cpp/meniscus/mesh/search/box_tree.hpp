/// Tree of axis-aligned boxes over elements of any kind: along a space-filling curve, eight elements per leaf, eight children per
/// node.
///
/// The tree has no pointers: leaf i holds the elements [8 i, 8 i + 8) of the curve, node i of a level holds the nodes [8 i, 8 i +
/// 8) of the level below. So a build is a sort, a refit is a pass over the levels, and eight boxes are tested at once. The boxes
/// of the elements are stored in double precision; those of the nodes are rounded outward to floats, so that they contain what
/// lies below them. A query rounded to the nearest floats overlaps them if the query itself does, because rounding is monotone.
///
/// The tree does not depend on the number of threads, and keeps its memory when it is built again over as many elements.
///
/// Source: Kamel and Faloutsos, "On packing R-trees", 1993 (packing along a Hilbert curve); Skilling, "Programming the Hilbert
/// curve", 2004.
#pragma once

#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/mesh/search/box.hpp"
#include "meniscus/mesh/search/box_lanes.hpp"

#include <vector>

namespace meniscus::mesh {

/// One of eight boxes.
template <class T>
Box box_of_lane(const BoxLanes<T>& boxes, int k) {
  Box box;
  for (int d = 0; d < 3; ++d) {
    box.low[d] = boxes.low[d][k];
    box.high[d] = boxes.high[d][k];
  }
  return box;
}

class BoxTree {
 public:
  using Node = BoxLanes<float>;
  using Leaf = BoxLanes<double>;

  BoxTree() = default;

  /// A tree over one box per element.
  explicit BoxTree(std::span<const Box> boxes);

  /// Sorts the elements along the curve, and refits.
  void build(std::span<const Box> boxes, Workspace& workspace);

  /// Sets new boxes of the same elements; the grouping of elements into leaves does not change.
  void refit(std::span<const Box> boxes);

  /// The two parts of `build`: the order of the elements, and the boxes of all levels from box_of(slot).
  void sort(std::span<const Box> boxes, Workspace& workspace);
  template <class BoxOf>
  void fit(BoxOf&& box_of);

  /// Looseness of the leaves: the sum of the edge lengths of the boxes of all leaves divided by that of all elements. It grows
  /// when elements that share a leaf move apart.
  double looseness() const;

  Index size() const { return size_; }
  Index leaves() const { return (size_ + lanes - 1) / lanes; }
  /// Elements in a leaf.
  int count(Index leaf) const { return static_cast<int>(std::min<Index>(lanes, size_ - leaf * lanes)); }
  /// Boxes of the elements of a leaf; lanes without an element hold NaN.
  const Leaf& leaf(Index i) const { return leaves_[i]; }
  const Box& leaf_box(Index i) const { return leaf_boxes_[i]; }
  /// Numbers of the elements of a leaf, -1 where there is none.
  const std::int32_t* elements(Index leaf) const { return elements_.data() + leaf * lanes; }
  /// The element at a slot: a position along the curve.
  std::int32_t element(Index slot) const { return elements_[slot]; }

  /// Levels of nodes above the leaves: level 0 has the boxes of the leaves, and the last level is one node.
  int levels() const { return static_cast<int>(level_start_.size()) - 1; }
  const Node& node(int level, Index i) const { return nodes_[level_start_[level] + i]; }
  /// Children of a node: leaves of level 0, nodes of the level below of the others.
  int children(int level, Index i) const {
    const Index below = level == 0 ? leaves() : level_start_[level] - level_start_[level - 1];
    return static_cast<int>(std::min<Index>(lanes, below - i * lanes));
  }

  /// Descends from the root: open(level, i) is a mask of the children of a node to go on with, leaf(i) is called for the leaves
  /// that are reached.
  template <class Open, class VisitLeaf>
  void descend(Open&& open, VisitLeaf&& leaf) const;

  /// Calls found(slot) for the elements whose boxes overlap a box, until it returns true; returns whether it did.
  template <class Found>
  bool any_overlap(const Box& box, Found&& found) const {
    using F = std::remove_reference_t<Found>;
    // Most queries of some users miss everything; dispatch costs more than this test.
    return around_.overlaps(box) &&
           any_overlap(box, [](void* f, Index slot) -> bool { return (*static_cast<F*>(f))(slot); }, address(found));
  }
  /// Calls found(slot) for all of them.
  template <class Found>
  void for_each_overlap(const Box& box, Found&& found) const {
    any_overlap(box, [&](Index slot) { return found(slot), false; });
  }
  /// Calls found(first, second) for slots first < second with overlapping boxes, of which the first is in a leaf, until it
  /// returns true; returns whether it did. All leaves give every pair of elements once.
  template <class Found>
  bool any_pair(Index leaf, Found&& found) const {
    using F = std::remove_reference_t<Found>;
    return any_pair(
        leaf, [](void* f, Index first, Index second) -> bool { return (*static_cast<F*>(f))(first, second); }, address(found));
  }

  /// Calls visit(slot) for elements with a bound of at most `limit`, lower bounds first among those of one node; `visit` may
  /// lower the limit. bounds(boxes, out) sets the bounds of eight boxes in lanes; a larger box never has a higher one. V are the
  /// lanes of `with_box_lanes`.
  template <class V, class Bounds, class Visit>
  void for_each_within(V, const double& limit, Bounds&& bounds, Visit&& visit) const;

  /// The same with squared distances to a point as bounds.
  template <class Visit>
  void for_each_near(const Point& p, const double& limit, Visit&& visit) const {
    using V = std::remove_reference_t<Visit>;
    for_each_near(p, limit, [](void* v, Index slot) { (*static_cast<V*>(v))(slot); }, address(visit));
  }

  /// Bytes held.
  Index nbytes() const;

 private:
  /// Nodes that wait on the way down: eight children on each level of a tree over 2^31 elements.
  static constexpr std::size_t max_waiting = 8 * 11;

  template <class F>
  static void* address(F& f) {
    return const_cast<void*>(static_cast<const void*>(&f));
  }
  bool any_overlap(const Box& box, bool (*found)(void*, Index), void* context) const;
  bool any_pair(Index leaf, bool (*found)(void*, Index, Index), void* context) const;
  void for_each_near(const Point& p, const double& limit, void (*visit)(void*, Index), void* context) const;
  void lay_out(Index size);
  void fit_levels();

  Index size_ = 0;
  std::vector<std::int32_t> elements_;
  std::vector<Leaf> leaves_;
  std::vector<Box> leaf_boxes_;
  std::vector<Node> nodes_;
  std::vector<Index> level_start_{0};
  /// Around all elements.
  Box around_;
};

template <class BoxOf>
void BoxTree::fit(BoxOf&& box_of) {
  parallel_for(0, leaves(), 256, [&](Index begin, Index end) {
    const StandardArithmetic arithmetic;
    for (Index i = begin; i < end; ++i) {
      Leaf& leaf = leaves_[i];
      Box all;
      for (int k = 0; k < lanes; ++k) {
        if (k >= count(i)) {
          for (int d = 0; d < 3; ++d) leaf.low[d][k] = leaf.high[d][k] = std::numeric_limits<double>::quiet_NaN();
          continue;
        }
        const Box box = box_of(i * lanes + k);
        for (int d = 0; d < 3; ++d) {
          leaf.low[d][k] = box.low[d];
          leaf.high[d][k] = box.high[d];
        }
        all.add(box);
      }
      leaf_boxes_[i] = all;
    }
  });
  fit_levels();
}

template <class Open, class VisitLeaf>
void BoxTree::descend(Open&& open, VisitLeaf&& leaf) const {
  if (size_ == 0) return;
  struct Waiting {
    int level;
    Index node;
  };
  std::array<Waiting, max_waiting> stack;
  std::size_t top = 0;
  stack[top++] = {levels() - 1, 0};
  while (top > 0) {
    const auto [level, i] = stack[--top];
    unsigned mask = open(level, i);
    if (level == 0) {
      for (; mask != 0; mask &= mask - 1) leaf(i * lanes + std::countr_zero(mask));
    } else {
      // The first child goes on top.
      while (mask != 0) {
        const int k = std::bit_width(mask) - 1;
        mask ^= 1u << k;
        stack[top++] = {level - 1, i * lanes + k};
      }
    }
  }
}

template <class V, class Bounds, class Visit>
void BoxTree::for_each_within(V, const double& limit, Bounds&& bounds, Visit&& visit) const {
  if (size_ == 0) return;
  /// Level -1 is that of the leaves.
  struct Waiting {
    double bound;
    int level;
    Index node;
  };
  std::array<Waiting, max_waiting + lanes> stack;
  std::size_t top = 0;
  alignas(64) double bound[lanes];
  const auto lowest = [&](unsigned lanes_left) {
    int best = std::countr_zero(lanes_left);
    for (unsigned m = lanes_left & (lanes_left - 1); m != 0; m &= m - 1)
      if (const int k = std::countr_zero(m); bound[k] < bound[best]) best = k;
    return best;
  };
  int level = levels() - 1;
  Index i = 0;
  for (;;) {
    if (level < 0) {
      bounds(leaf(i), bound);
      unsigned left = V::at_most(bound, limit) & ((1u << count(i)) - 1);
      while (left != 0) {
        const int best = lowest(left);
        if (!(bound[best] <= limit)) break;
        visit(i * lanes + best);
        left &= ~(1u << best);
      }
    } else {
      bounds(node(level, i), bound);
      unsigned left = V::at_most(bound, limit) & ((1u << children(level, i)) - 1);
      if (left != 0) {
        const int best = lowest(left);
        left &= ~(1u << best);
        --level;
        i *= lanes;
        // The others wait, the child with the lowest bound on top.
        const std::size_t bottom = top;
        for (; left != 0; left &= left - 1) {
          const int k = std::countr_zero(left);
          std::size_t at = top++;
          for (; at > bottom && stack[at - 1].bound < bound[k]; --at) stack[at] = stack[at - 1];
          stack[at] = {bound[k], level, i + k};
        }
        i += best;
        continue;
      }
    }
    do {
      if (top == 0) return;
      --top;
    } while (!(stack[top].bound <= limit));
    level = stack[top].level;
    i = stack[top].node;
  }
}

}  // namespace meniscus::mesh
