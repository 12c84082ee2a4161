/// Colours of pairs of bodies: those of a colour have no body that moves in common.
#pragma once

#include "meniscus/core/types.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace meniscus::solids {

/// Numbers of pairs, colour by colour, within a colour in their order.
class PairColours {
 public:
  /// `bodies(i)` returns the two bodies of a pair, `moves(b)` whether a body must not be shared.
  template <class Bodies, class Moves>
  void build(Index pairs, Index number_of_bodies, Bodies&& bodies, Moves&& moves) {
    used_.assign(number_of_bodies, 0);
    colour_.resize(pairs);
    first_.assign(most + 1, 0);
    for (Index i = 0; i < pairs; ++i) {
      std::uint64_t taken = 0;
      const auto pair = bodies(i);
      for (const auto b : pair)
        if (moves(b)) taken |= used_[b];
      // What does not fit into the others has the last colour, whose pairs are taken one after the other.
      int c = 0;
      while (c < most - 1 && (taken >> c) & 1) ++c;
      for (const auto b : pair)
        if (moves(b)) used_[b] |= std::uint64_t(1) << c;
      colour_[i] = c;
      ++first_[static_cast<std::size_t>(c) + 1];
    }
    colours_ = 0;
    for (int c = 0; c < most; ++c)
      if (first_[static_cast<std::size_t>(c) + 1] > 0) colours_ = c + 1;
    for (std::size_t c = 0; c < most; ++c) first_[c + 1] += first_[c];
    order_.resize(pairs);
    place_ = first_;
    for (Index i = 0; i < pairs; ++i) order_[place_[colour_[i]]++] = i;
  }

  /// Colours that have pairs: the first ones.
  int colours() const { return colours_; }
  /// Places of a colour in the order of all pairs, for `core::parallel_phases`: of the last, whose pairs may share bodies, one.
  std::pair<Index, Index> extent(Index colour) const {
    const Index c = colour;
    return c + 1 == most ? std::pair(first_[c], std::min(first_[c] + 1, first_[c + 1])) : std::pair(first_[c], first_[c + 1]);
  }
  /// Calls f(pair) for the pairs at such places.
  template <class F>
  void visit(Index colour, Index begin, Index end, F&& f) const {
    if (colour + 1 == most) end = first_[most];
    for (Index k = begin; k < end; ++k) f(order_[k]);
  }
  Index nbytes() const {
    return static_cast<Index>(used_.capacity() * 8 + colour_.capacity() * 4 + (first_.capacity() + place_.capacity()) * 8 +
                              order_.capacity() * 8);
  }

 private:
  static constexpr int most = 64;
  int colours_ = 0;
  std::vector<std::uint64_t> used_;
  std::vector<int> colour_;
  std::vector<Index> first_ = std::vector<Index>(most + 1, 0), place_, order_;
};

}  // namespace meniscus::solids
