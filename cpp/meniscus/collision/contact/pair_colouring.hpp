/// Colours of pairs of elements such that pairs of one colour have no yielding node in common.
///
/// Pairs take the lowest colour that is free at all of their nodes, one after the other. So the colours depend on the pairs and
/// their order alone, and a node with many pairs costs as many colours, but no time elsewhere.
#pragma once

#include "meniscus/collision/contact/contact_nodes.hpp"
#include "meniscus/collision/continuous/continuous_collision.hpp"

#include <bit>
#include <vector>

namespace meniscus::collision {

class PairColouring {
 public:
  /// Colours pairs of vertices. Nodes of infinite mass may be shared, since nothing changes them.
  void colour(std::span<const Stencil> pairs, const ContactNodes& nodes);

  /// Colours `items` things at `nodes` nodes: each_node(i, f) calls f(node) for every node of thing i.
  template <class EachNode>
  void colour(std::size_t items, std::size_t nodes, EachNode&& each_node) {
    colours_.assign(items, -1);
    counts_.clear();
    waiting_.clear();
    std::size_t base = 0;
    const auto try_item = [&](std::size_t i) {
      std::uint64_t taken = 0;
      each_node(i, [&](std::size_t n) { taken |= taken_[n]; });
      const Index free = std::countr_one(taken);
      if (free == 64) return false;
      each_node(i, [&](std::size_t n) { taken_[n] |= std::uint64_t{1} << free; });
      colours_[i] = static_cast<std::int32_t>(base + free);
      if (base + free >= counts_.size()) counts_.resize(base + free + 1, 0);
      ++counts_[base + free];
      return true;
    };
    taken_.assign(nodes, 0);
    for (std::size_t i = 0; i < items; ++i)
      if (!try_item(i)) waiting_.push_back(static_cast<std::int32_t>(i));
    while (!waiting_.empty()) {
      base += 64;
      taken_.assign(nodes, 0);
      std::erase_if(waiting_, [&](std::int32_t i) { return try_item(i); });
    }
  }

  /// Of each pair.
  std::span<const std::int32_t> colours() const { return colours_; }
  /// Number of pairs of each colour.
  std::span<const Index> counts() const { return counts_; }
  Index nbytes() const;

 private:
  std::vector<std::int32_t> colours_;
  std::vector<Index> counts_;
  /// Colours in use at each node, 64 at a time.
  std::vector<std::uint64_t> taken_;
  /// Pairs for which none of these is free.
  std::vector<std::int32_t> waiting_;
};

}  // namespace meniscus::collision
