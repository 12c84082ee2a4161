/// Queue of active strips, for iterations that touch only part of a grid: strips are updated in rounds, and a round covers only
/// strips next to a change.
///
/// Strips are coloured so that no two neighbours share a colour, and one colour is updated at a time. The result therefore
/// depends on the set of strips of a round, but not on their order, the number of threads or the blocks of a domain.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/strips/strip_window.hpp"

#include <atomic>
#include <bit>

namespace meniscus::grid {

/// List of strips that have to be updated: a bit per strip, in separate words for every colour.
template <int D>
class StripQueue {
 public:
  StripQueue(const StripGrid<D>& grid, Workspace& workspace)
      : grid_(grid),
        row_words_((grid.row_strips + word_bits - 1) / word_bits),
        bits_(workspace.take<std::uint64_t>(grid.rows * row_words_ * grid.colours)) {
    parallel_for(0, bits_.size(), 1 << 16,
                 [&](Index b, Index e) { std::fill(bits_.data() + b, bits_.data() + e, std::uint64_t{0}); });
    if (!grid.cut) return;
    calls_ = workspace.take<std::uint8_t>(grid.strips());
    clear_calls();
  }

  /// May be called from any thread.
  void add(Index strip) {
    const Index row = strip / grid_.row_strips;
    add(grid_.row_coordinate(row), row, strip % grid_.row_strips);
  }
  void add(const Coord<D>& row_start, Index row, Index s) {
    if (!grid_.own_strip(row_start, s)) {
      std::atomic_ref<std::uint8_t>(calls_.data()[row * grid_.row_strips + s]).store(1, std::memory_order_relaxed);
      return;
    }
    const int c = grid_.colour(row_start, s);
    std::atomic_ref<std::uint64_t>(words(c, row)[s / word_bits])
        .fetch_or(std::uint64_t{1} << (s % word_bits), std::memory_order_relaxed);
    auto& pending = pending_[c];
    if (!pending.load(std::memory_order_relaxed)) pending.store(true, std::memory_order_relaxed);
  }
  /// Adds the neighbours of a strip for which wanted(which) is true.
  template <class Wanted>
  void add_beside(const StripPlace<D>& p, Wanted&& wanted) {
    for (std::size_t which = 0; which < 2 * D; ++which)
      if (p.beside[which] >= 0 && p.beside[which] != p.strip && wanted(which)) add(p.beside[which]);
  }

  /// Collective. Hands the strips of other blocks that were added to the blocks that update them, and fills the ghosts of arrays
  /// that have a value for each strip.
  template <class... T>
  void share(StripExchange<D>& exchange, T*... values) {
    if (!grid_.cut) return;
    exchange.share(calls_.data(), [this](Index strip) { add(strip); }, values...);
    clear_calls();
  }

  /// Calls update(place) for strips on the list until it is empty; `update` adds the neighbours that it affects. After each
  /// colour, the arrays that `update` reads, with a value for each strip, are shared between blocks. Returns the number of
  /// rounds.
  template <class Update, class... T>
  Index run(StripExchange<D>& exchange, Update&& update, T*... values) {
    for (Index rounds = 0;; ++rounds) {
      // One question for all colours, although some may have none: to share nothing costs as much as to ask.
      bool any = false;
      for (int c = 0; c < grid_.colours; ++c) any |= pending_[c].load(std::memory_order_relaxed);
      if (!exchange.any(any)) return rounds;
      for (int c = 0; c < grid_.colours; ++c) {
        if (pending_[c].exchange(false, std::memory_order_relaxed)) update_colour(c, update);
        share(exchange, values...);
      }
    }
  }

 private:
  static constexpr Index word_bits = 64;
  std::uint64_t* words(int c, Index row) const { return bits_.data() + (c * grid_.rows + row) * row_words_; }
  void clear_calls() { std::fill(calls_.data(), calls_.data() + calls_.size(), std::uint8_t{0}); }

  template <class Update>
  void update_colour(int c, Update&& update) {
    parallel_for(0, grid_.rows, grid_.piece(), [&](Index b, Index e) {
      simd_dispatch([&] {
        // Strips of this colour are added by passes of other colours only.
        for (Index i = b * row_words_; i < e * row_words_; ++i) {
          std::uint64_t& word = words(c, 0)[i];
          if (word == 0) continue;
          const Index row = i / row_words_;
          const Coord<D> start = grid_.row_coordinate(row);
          std::uint64_t rest = std::exchange(word, 0);
          for (; rest != 0; rest &= rest - 1)
            update(StripPlace<D>::of(grid_, start, row, i % row_words_ * word_bits + std::countr_zero(rest)));
        }
      });
    });
  }

  const StripGrid<D>& grid_;
  Index row_words_;
  Workspace::Lease<std::uint64_t> bits_;
  Workspace::Lease<std::uint8_t> calls_;  ///< strips of other blocks that were added
  std::array<std::atomic<bool>, 3> pending_{};
};

}  // namespace meniscus::grid
