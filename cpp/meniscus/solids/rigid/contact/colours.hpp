/// Colours of pairs of bodies: those of a colour have no body that moves in common.
#pragma once

#include "meniscus/core/parallel.hpp"

#include <vector>

namespace meniscus::solids {

/// Numbers of pairs, colour by colour, within a colour in their order.
class PairColours {
 public:
  /// `bodies(i)` returns the two bodies of a pair, `moves(b)` whether a body must not be shared.
  template <class Bodies, class Moves>
  void build(Index pairs, Index number_of_bodies, Bodies&& bodies, Moves&& moves) {
    used_.assign(static_cast<std::size_t>(number_of_bodies), 0);
    colour_.resize(static_cast<std::size_t>(pairs));
    first_.assign(most + 1, 0);
    for (Index i = 0; i < pairs; ++i) {
      std::uint64_t taken = 0;
      const auto pair = bodies(i);
      for (const auto b : pair)
        if (moves(b)) taken |= used_[static_cast<std::size_t>(b)];
      // What does not fit into the others has the last colour, whose pairs are taken one after the other.
      int c = 0;
      while (c < most - 1 && (taken >> c) & 1) ++c;
      for (const auto b : pair)
        if (moves(b)) used_[static_cast<std::size_t>(b)] |= std::uint64_t(1) << c;
      colour_[static_cast<std::size_t>(i)] = c;
      ++first_[static_cast<std::size_t>(c) + 1];
    }
    for (std::size_t c = 0; c < most; ++c) first_[c + 1] += first_[c];
    order_.resize(static_cast<std::size_t>(pairs));
    place_ = first_;
    for (Index i = 0; i < pairs; ++i)
      order_[static_cast<std::size_t>(place_[static_cast<std::size_t>(colour_[static_cast<std::size_t>(i)])]++)] = i;
  }

  /// Calls f(pair) for all pairs: in parallel within a colour.
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t c = 0; c < most; ++c) {
      const Index begin = first_[c], end = first_[c + 1];
      if (end - begin < few || c + 1 == most) {
        for (Index k = begin; k < end; ++k) f(order_[static_cast<std::size_t>(k)]);
        continue;
      }
      parallel_for(begin, end, chunk, [&](Index b, Index e) {
        for (Index k = b; k < e; ++k) f(order_[static_cast<std::size_t>(k)]);
      });
    }
  }
  int colours() const {
    int n = 0;
    for (std::size_t c = 0; c < most; ++c) n += first_[c + 1] > first_[c];
    return n;
  }
  Index nbytes() const {
    return static_cast<Index>(used_.capacity() * 8 + colour_.capacity() * 4 + (first_.capacity() + place_.capacity()) * 8 +
                              order_.capacity() * 8);
  }

 private:
  static constexpr int most = 64;
  /// Fewer pairs are not worth waking threads up.
  static constexpr Index few = 64, chunk = 16;
  std::vector<std::uint64_t> used_;
  std::vector<int> colour_;
  std::vector<Index> first_ = std::vector<Index>(most + 1, 0), place_, order_;
};

}  // namespace meniscus::solids
