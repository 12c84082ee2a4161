/// Colours of items that share nodes: items of one colour have no node in common, so they may change their nodes at the same
/// time.
///
/// Items take the lowest colour that is free at all of their nodes, one after the other. So the colours depend on the items and
/// their order alone, and a node with many items costs as many colours, but no time elsewhere.
#pragma once

#include "meniscus/core/types.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace meniscus::numerics {

/// What becomes of items at a node that has all colours of a word.
enum class WhenFull : std::uint8_t {
  open_more,     ///< further colours, 64 at a time
  take_in_turn,  ///< the last of 64 colours, whose items may share nodes and are taken one after the other
};

class Colouring {
 public:
  /// Colours `items` items at `nodes` nodes: each_node(i, f) calls f(node) for every node of item i that must not be shared.
  template <class EachNode>
  void colour(Index items, Index nodes, EachNode&& each_node, WhenFull when_full = WhenFull::open_more) {
    colours_.assign(items, -1);
    counts_.clear();
    waiting_.clear();
    in_turn_ = -1;
    Index base = 0;
    const auto take = [&](Index i, int colour) {
      each_node(i, [&](auto n) { taken_[n] |= std::uint64_t{1} << colour; });
      const Index c = base + colour;
      colours_[i] = static_cast<std::int32_t>(c);
      if (c >= std::ssize(counts_)) counts_.resize(c + 1, 0);
      ++counts_[c];
    };
    const auto try_item = [&](Index i) {
      std::uint64_t taken = 0;
      each_node(i, [&](auto n) { taken |= taken_[n]; });
      const int free = std::countr_one(taken);
      if (free < most - (when_full == WhenFull::take_in_turn ? 1 : 0)) {
        take(i, free);
        return true;
      }
      if (when_full == WhenFull::open_more) return false;
      in_turn_ = most - 1;
      take(i, most - 1);
      return true;
    };
    taken_.assign(nodes, 0);
    for (Index i = 0; i < items; ++i)
      if (!try_item(i)) waiting_.push_back(static_cast<std::int32_t>(i));
    while (!waiting_.empty()) {
      base += most;
      taken_.assign(nodes, 0);
      std::erase_if(waiting_, [&](std::int32_t i) { return try_item(i); });
    }
    sort();
  }

  /// Number of colours.
  Index size() const { return std::ssize(first_) - 1; }
  /// Of each item.
  std::span<const std::int32_t> colours() const { return colours_; }
  /// Items, colour by colour, within a colour in their order.
  std::span<const std::int32_t> order() const { return order_; }
  /// Where each colour begins in `order`, and the end.
  std::span<const Index> first() const { return first_; }

  /// What there is to do of a colour at the same time, as places in `order`, for `core::parallel_phases`: of one whose items are
  /// taken in turn, one.
  std::pair<Index, Index> extent(Index colour) const {
    return {first_[colour], colour == in_turn_ ? first_[colour] + 1 : first_[colour + 1]};
  }
  /// Calls f(item) for what `extent` has given or a part of it.
  template <class F>
  void visit(Index colour, Index begin, Index end, F&& f) const {
    if (colour == in_turn_) end = first_[colour + 1];
    for (Index k = begin; k < end; ++k) f(order_[k]);
  }

  Index nbytes() const {
    return static_cast<Index>((colours_.capacity() + waiting_.capacity() + order_.capacity()) * sizeof(std::int32_t) +
                              (counts_.capacity() + first_.capacity()) * sizeof(Index) +
                              taken_.capacity() * sizeof(std::uint64_t));
  }

 private:
  static constexpr int most = 64;

  void sort() {
    first_.assign(1, 0);
    for (const Index n : counts_) first_.push_back(first_.back() + n);
    order_.resize(colours_.size());
    std::copy(first_.begin(), first_.end() - 1, counts_.begin());
    for (Index i = 0; i < std::ssize(colours_); ++i) order_[counts_[colours_[i]]++] = static_cast<std::int32_t>(i);
  }

  std::vector<std::int32_t> colours_, order_;
  std::vector<Index> first_{0}, counts_;
  /// Colours in use at each node, 64 at a time.
  std::vector<std::uint64_t> taken_;
  /// Items for which none of these is free.
  std::vector<std::int32_t> waiting_;
  Index in_turn_ = -1;
};

}  // namespace meniscus::numerics
