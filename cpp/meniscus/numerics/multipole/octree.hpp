/// Adaptive octree over two sets of points, sources and targets, for fast multipole methods: built in linear time by sorting
/// Morton codes, without empty boxes, as fine as points demand (clusters much smaller than the whole are followed to 2^-45 of
/// it).
///
/// Source: Brochu 2012, section 6.5 (Morton codes and radix sort); Cheng, Greengard and Rokhlin 1999 (adaptive lists).
#pragma once

#include "meniscus/core/types.hpp"
#include "meniscus/core/workspace.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace meniscus::numerics {

struct OctreeOptions {
  Index most_points = 64;    ///< sources, or targets, of a box that is not divided
  double mean_points = 0.0;  ///< wanted of leaves where points fill a volume; 0: whatever comes
  double least_side = 0.0;   ///< m, boxes below twice this side are not divided
};

/// Points in the order of the tree, by coordinates.
struct OrderedPoints {
  std::vector<Index> order;  ///< place in the input of each point
  std::vector<double> x, y, z;
  Index size() const { return static_cast<Index>(order.size()); }
};

class Octree {
 public:
  struct Box {
    Coord<3> cell;  ///< integer place among the boxes of its level
    std::int32_t parent, first_child;
    std::int8_t level, children;
    std::int32_t sources_begin, sources_end, targets_begin, targets_end;

    Index sources() const { return sources_end - sources_begin; }
    Index targets() const { return targets_end - targets_begin; }
    bool leaf() const { return children == 0; }
    /// Place in the parent, with the first axis in the bit of value 4.
    int octant() const { return static_cast<int>((cell[0] & 1) * 4 + (cell[1] & 1) * 2 + (cell[2] & 1)); }
  };

  /// Rows of three coordinates, m. Without targets the sources are the targets, too.
  Octree(const double* sources, Index n, const double* targets, Index m, const OctreeOptions& options);

  const std::vector<Box>& boxes() const { return boxes_; }
  const Box& box(Index b) const { return boxes_[b]; }
  int levels() const { return static_cast<int>(level_begin_.size()) - 1; }
  Index level_begin(int level) const { return level_begin_[level]; }
  double side(int level) const { return std::ldexp(side_, -level); }
  Vec<double, 3> centre(const Box& box) const;
  const OrderedPoints& sources() const { return sources_; }
  const OrderedPoints& targets() const { return same_ ? sources_ : targets_; }
  bool same() const { return same_; }

  /// Boxes near a box, whose points are not reached by expansions that belong to the box itself or to a box above it: neighbours
  /// of its level, larger leaves, and what `AtOnce` says. Entries below zero are ~box for boxes that are taken point by point.
  std::span<const std::int32_t> near(Index b) const { return {near_.data() + near_begin_[b], near_.data() + near_begin_[b + 1]}; }
  /// Finds the boxes near each box. Boxes with at most `few_targets` targets take sources of larger leaves that are not their
  /// neighbours point by point; others do it by expansions.
  void find_near(Index few_targets);

  /// Whether two boxes touch.
  static bool adjacent(const Box& a, const Box& b);
  Index bytes() const;

 private:
  void build(const double* sources, Index n, const double* targets, Index m, const OctreeOptions& options, double scale);
  /// The scale of the root with which leaves would have about `wanted` sources each, where they fill a volume evenly; else 1.
  double better_scale(double wanted) const;
  void enclose(const double* points, Index n, Vec<double, 3>& low, Vec<double, 3>& high) const;
  void sort_range(const double* points, std::vector<Index>& order, Index begin, Index end, int level);
  void divide(Index b, const OctreeOptions& options, const double* sources, const double* targets);
  std::array<Index, 9> parts(const std::vector<std::uint64_t>& keys, Index begin, Index end, int level) const;
  std::uint64_t key(const double* point, int level) const;

  bool same_;
  Vec<double, 3> low_;
  double side_ = 1.0;
  std::vector<Box> boxes_;
  std::vector<Index> level_begin_;
  OrderedPoints sources_, targets_;
  std::vector<std::uint64_t> source_keys_, target_keys_;
  std::vector<Index> near_begin_;
  std::vector<std::int32_t> near_;
  Workspace workspace_;
};

}  // namespace meniscus::numerics
