#include "meniscus/solids/springs/sliced_ellpack.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {

/// Nodes among which those with the most springs come first: few enough that neighbours stay close in memory.
constexpr std::size_t window = 1024;
static_assert(window % SlicedEllpack::lanes == 0);

}  // namespace

SlicedEllpack::SlicedEllpack(std::span<const Ends> springs) {
  // Kernels compute 3 * node in 32 bits.
  constexpr std::int32_t max_nodes = 2147483647 / 3;
  require(springs.size() < static_cast<std::size_t>(none), "there are too many springs: ", springs.size());
  std::int32_t highest = -1;
  for (std::size_t s = 0; s < springs.size(); ++s) {
    const auto [a, b] = springs[s];
    require(a >= 0 && b >= 0, "spring ", s, " has the node ", std::min(a, b));
    require(a != b, "spring ", s, " joins node ", a, " to itself");
    require(a < max_nodes && b < max_nodes, "spring ", s, " has the node ", std::max(a, b), ", and ", max_nodes - 1,
            " is the highest possible");
    highest = std::max({highest, a, b});
  }
  nodes_ = highest + Index{1};
  std::vector<Index> begin;
  std::vector<std::int32_t> halves;
  numerics::list_by_rows(nodes_, begin, halves, [&](auto&& add) {
    for (std::size_t s = 0; s < springs.size(); ++s) {
      const auto id = static_cast<std::int32_t>(s);
      add(springs[s][0], id);
      add(springs[s][1], -1 - id);
    }
  });
  const auto degree = [&](std::int32_t node) { return begin[node + 1] - begin[node]; };
  for (std::int32_t i = 0; i < nodes_; ++i)
    if (degree(i) > 0) node_.push_back(i);
  used_nodes_ = static_cast<Index>(node_.size());
  for (std::size_t w = 0; w < node_.size(); w += window)
    std::sort(node_.begin() + static_cast<std::ptrdiff_t>(w),
              node_.begin() + static_cast<std::ptrdiff_t>(std::min(w + window, node_.size())),
              [&](std::int32_t a, std::int32_t b) { return degree(a) != degree(b) ? degree(a) > degree(b) : a < b; });
  const auto slices = (node_.size() + lanes - 1) / lanes;
  node_.resize(slices * lanes, 0);
  for (std::size_t s = 0; s < slices; ++s) {
    // The first node of a slice has the most springs.
    start_.push_back(start_.back() + degree(node_[s * lanes]));
  }
  const Index size = start_.back() * lanes;
  partner_.resize(size);
  spring_.assign(size, none);
  for (std::size_t s = 0; s < slices; ++s)
    for (std::size_t l = 0; l < lanes; ++l) {
      const std::int32_t node = node_[s * lanes + l];
      const Index count = s * lanes + l < static_cast<std::size_t>(used_nodes_) ? degree(node) : 0;
      for (Index r = 0; r < start_[s + 1] - start_[s]; ++r) {
        const auto h = static_cast<std::size_t>(lanes * (start_[s] + r)) + l;
        partner_[h] = node;
        if (r >= count) continue;
        spring_[h] = halves[begin[node] + r];
        const bool first = spring_[h] >= 0;
        const Index id = first ? spring_[h] : -1 - spring_[h];
        partner_[h] = springs[id][first ? 1 : 0];
      }
    }
}

std::vector<double> SlicedEllpack::spread(std::span<const double> per_spring, double padding) const {
  std::vector<double> result(spring_.size(), padding);
  for (std::size_t h = 0; h < spring_.size(); ++h)
    if (const std::int32_t s = spring_[h]; s != none) result[h] = per_spring[s >= 0 ? s : -1 - s];
  return result;
}

}  // namespace meniscus::solids
