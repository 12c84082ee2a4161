#include "meniscus/mesh/search/bounding_volume_tree.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/numerics/morton.hpp"

#include <bit>

namespace meniscus::mesh {
namespace {

constexpr Index box_chunk = 1024;

/// Position at which the primitives [first, end) are split: at the first change of the highest bit in which their codes differ;
/// in the middle if all codes are equal.
Index split_position(std::span<const std::uint64_t> codes, Index first, Index end) {
  const std::uint64_t differing = codes[first] ^ codes[end - 1];
  if (differing == 0) return first + (end - first) / 2;
  const std::uint64_t bit = std::bit_floor(differing);
  const auto begin = codes.begin() + first;
  return std::partition_point(begin, codes.begin() + end, [bit](std::uint64_t c) { return (c & bit) == 0; }) - codes.begin();
}

}  // namespace

BoundingVolumeTree::BoundingVolumeTree(std::span<const Box> boxes) {
  const auto n = static_cast<Index>(boxes.size());
  require(n <= 2147483647, "a tree can hold at most 2147483647 primitives, not ", n);
  if (n == 0) return;
  const auto center = [&](Index i) -> Point {
    const Box& b = boxes[i];
    return 0.5 * b.low + 0.5 * b.high;
  };
  const Box all = parallel_reduce(
      0, n, box_chunk, Box{},
      [&](Index b, Index e) {
        Box box;
        for (Index i = b; i < e; ++i) box.add(center(i));
        return box;
      },
      [](Box a, const Box& b) {
        a.add(b);
        return a;
      });
  const double extent = (all.high - all.low).maxCoeff();
  const double cells_per_metre = extent > 0 ? static_cast<double>(1 << numerics::morton_bits_per_axis) / extent : 0;
  std::vector<std::uint64_t> codes(boxes.size());
  parallel_for(0, n, box_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) codes[i] = numerics::morton_code(center(i), all.low, cells_per_metre);
  });
  std::vector<Index> order(boxes.size());
  Workspace workspace;
  radix_sort(codes.data(), order.data(), n, std::uint64_t{1} << (3 * numerics::morton_bits_per_axis), workspace);
  order_.assign(order.begin(), order.end());
  split_levels(codes);
  refit(boxes);
}

void BoundingVolumeTree::split_levels(std::span<const std::uint64_t> codes) {
  Node root;
  root.count = static_cast<std::int32_t>(codes.size());
  nodes_.push_back(root);
  levels_ = {0, 1};
  for (;;) {
    const Index begin = levels_[levels_.size() - 2];
    const Index end = levels_.back();
    Index next = end;
    for (Index i = begin; i < end; ++i) {
      Node& n = nodes_[i];
      if (n.count <= leaf_size) continue;
      n.child = static_cast<std::int32_t>(next);
      next += 2;
    }
    if (next == end) return;
    nodes_.resize(next);
    levels_.push_back(next);
    parallel_for(begin, end, box_chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const Node& n = nodes_[i];
        if (n.leaf()) continue;
        const auto split = static_cast<std::int32_t>(split_position(codes, n.first, n.first + n.count));
        Node& left = nodes_[n.child];
        Node& right = nodes_[static_cast<std::size_t>(n.child) + 1];
        left.first = n.first;
        left.count = split - n.first;
        right.first = split;
        right.count = n.count - left.count;
      }
    });
  }
}

void BoundingVolumeTree::refit(std::span<const Box> boxes) {
  require(boxes.size() == order_.size(), "a tree over ", order_.size(), " primitives cannot take ", boxes.size(), " boxes");
  for (std::size_t level = levels_.size(); level-- > 1;)
    parallel_for(levels_[level - 1], levels_[level], box_chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        Node& n = nodes_[i];
        Box box;
        if (n.leaf()) {
          for (std::int32_t s = n.first; s < n.first + n.count; ++s) box.add(boxes[order_[s]]);
        } else {
          box = node(n.child).box;
          box.add(node(n.child + 1).box);
        }
        n.box = box;
      }
    });
}

}  // namespace meniscus::mesh
