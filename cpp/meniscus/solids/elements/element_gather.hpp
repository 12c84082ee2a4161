/// Sums of element contributions at nodes, in the same order whatever the number of threads: elements write to places of their
/// own, and every node adds up its own contributions.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/types.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace meniscus::solids {

/// The corners of elements at each node; an element has N nodes.
template <int N>
class ElementGather {
 public:
  using Element = std::array<std::int32_t, static_cast<std::size_t>(N)>;

  ElementGather() = default;
  explicit ElementGather(std::span<const Element> elements) {
    std::int32_t highest = -1;
    for (std::size_t e = 0; e < elements.size(); ++e)
      for (const std::int32_t node : elements[e]) {
        require(node >= 0, "element ", e, " has the node ", node);
        highest = std::max(highest, node);
      }
    require(elements.size() <= 2147483647 / static_cast<std::size_t>(N), "there are too many elements: ", elements.size());
    start_.assign(static_cast<std::size_t>(highest) + 2, 0);
    for (const Element& e : elements)
      for (const std::int32_t node : e) ++start_[static_cast<std::size_t>(node) + 1];
    for (std::size_t i = 1; i < start_.size(); ++i) start_[i] += start_[i - 1];
    slot_.resize(elements.size() * static_cast<std::size_t>(N));
    std::vector<std::int32_t> next(start_.begin(), start_.end() - 1);
    std::int32_t slot = 0;
    for (const Element& e : elements)
      for (const std::int32_t node : e) slot_[next[node]++] = slot++;
  }

  /// One more than the highest node.
  Index nodes() const { return std::max<Index>(static_cast<Index>(start_.size()) - 1, 0); }

  /// The corners N * element + corner at a node, ascending.
  std::span<const std::int32_t> at(Index node) const {
    const Index i = node;
    return {slot_.data() + start_[i], static_cast<std::size_t>(start_[i + 1] - start_[i])};
  }

  /// Number of corners at the nodes before this one.
  Index first(Index node) const { return start_[node]; }

  /// total[node] += scale * contribution[N * element + corner] for all corners of all elements.
  template <class T>
  void add(std::span<const T> contribution, double scale, std::span<T> total) const {
    parallel_for(0, nodes(), 1024, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const auto slots = at(i);
        if (slots.empty()) continue;
        T sum = contribution[slots[0]];
        for (std::size_t k = 1; k < slots.size(); ++k) sum += contribution[slots[k]];
        total[i] += scale * sum;
      }
    });
  }

  std::size_t nbytes() const { return (start_.capacity() + slot_.capacity()) * sizeof(std::int32_t); }

 private:
  std::vector<std::int32_t> start_;
  std::vector<std::int32_t> slot_;
};

}  // namespace meniscus::solids
