/// Springs stored by node (sliced ELLPACK): for each node its partners, with nodes of equally many springs side by side, so that
/// lanes of nodes are processed together and no two threads ever add to the same node.
///
/// Every spring is computed twice, once for each end, which costs less than writing its force to memory and collecting it there.
/// Source of the layout: Kreutzer et al., "A unified sparse matrix data format for efficient general sparse matrix-vector
/// multiplication on modern processors with wide SIMD units", 2014 (SELL-C-sigma).
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/types.hpp"

#include <span>
#include <vector>

namespace meniscus::solids {

/// The two ends of a spring.
using Ends = std::array<std::int32_t, 2>;

/// Slices of nodes; the half springs of a slice lie in rows of one per node.
class SlicedEllpack {
 public:
  /// Nodes of a slice.
  static constexpr int lanes = 32;
  /// Slices that one thread takes at a time.
  static constexpr Index chunk = 16;

  SlicedEllpack() = default;
  /// Throws InvalidArgument for negative nodes, too many of them, and springs between a node and itself.
  explicit SlicedEllpack(std::span<const Ends> springs);

  /// One more than the highest node.
  Index nodes() const { return nodes_; }
  Index slices() const { return static_cast<Index>(start_.size()) - 1; }
  /// Rows [first_row(s), first_row(s + 1)) are those of slice s; the half spring of lane l in row r is number lanes * r + l.
  Index first_row(Index slice) const { return start_[slice]; }
  Index rows() const { return start_.back(); }
  /// Number of lanes of a slice that have a node: all except in the last slice.
  int used(Index slice) const { return static_cast<int>(std::min<Index>(lanes, used_nodes_ - lanes * slice)); }
  /// The nodes of a slice; lanes that are not used have node 0.
  const std::int32_t* nodes_of(Index slice) const { return node_.data() + lanes * slice; }
  /// The node at the other end of each half spring; where a node has no more springs, the node itself.
  std::span<const std::int32_t> partners() const { return partner_; }
  /// The spring of each half spring: s where the node is its first end, -1 - s where it is the second; `none` for padding.
  std::span<const std::int32_t> springs() const { return spring_; }
  static constexpr std::int32_t none = 2147483647;

  /// One value per spring copied to its two halves; padding has the given value.
  std::vector<double> spread(std::span<const double> per_spring, double padding) const;

  std::size_t nbytes() const {
    return start_.capacity() * sizeof(Index) +
           (node_.capacity() + partner_.capacity() + spring_.capacity()) * sizeof(std::int32_t);
  }

 private:
  Index nodes_ = 0;
  Index used_nodes_ = 0;
  std::vector<Index> start_{0};
  std::vector<std::int32_t> node_;
  std::vector<std::int32_t> partner_;
  std::vector<std::int32_t> spring_;
};

}  // namespace meniscus::solids
