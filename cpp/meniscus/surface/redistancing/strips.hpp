/// Relaxation of scattered parts of a grid: strips of consecutive samples along the last axis are updated in rounds, and a round
/// covers only strips next to a change.
///
/// Strips are coloured so that no two neighbours share a colour, and one colour is updated at a time. The result therefore
/// depends on the set of strips of a round, but not on their order or the number of threads.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

#include <atomic>
#include <bit>

namespace meniscus::surface {

/// Samples per strip: the widest vector of floats.
inline constexpr int strip_lanes = 16;

/// The distinct samples of a field in strips. Coordinates count from the first distinct sample; of the two copies of a shared
/// side the last is the owner.
template <int D>
struct StripGrid {
  Coord<D> first;  ///< index in the field of the first distinct sample
  Coord<D> count;  ///< distinct samples per axis
  std::array<bool, D> periodic;
  Index rows = 1;
  Index row_strips;
  int colours = 2;

  explicit StripGrid(const grid::FieldLayout<D>& layout);

  Index strips() const { return rows * row_strips; }
  /// Rows per piece of a parallel loop.
  Index piece() const { return std::max<Index>(1, rows / 256); }

  /// Coordinates of the first sample of a row.
  Coord<D> row_coordinate(Index row) const {
    Coord<D> c{};
    for (int d = D - 2; d >= 0; --d) {
      c[d] = row % count[d];
      row /= count[d];
    }
    return c;
  }
  /// Coordinate `i` + `step` of an axis, or -1 outside of the domain.
  Index neighbour(int axis, Index i, int step) const {
    i += step;
    if (i >= 0 && i < count[axis]) return i;
    if (!periodic[axis]) return -1;
    return i < 0 ? count[axis] - 1 : 0;
  }
  /// Calls visit(axis, coordinates) for the neighbours of a sample.
  template <class Visit>
  void for_each_beside(const Coord<D>& c, Visit&& visit) const {
    for (int d = 0; d < D; ++d)
      for (const int step : {-1, 1}) {
        Coord<D> q = c;
        q[static_cast<std::size_t>(d)] = neighbour(d, c[static_cast<std::size_t>(d)], step);
        if (q[static_cast<std::size_t>(d)] >= 0) visit(d, q);
      }
  }
  /// Number of a sample among the lanes of all strips, and back.
  Index slot(const Coord<D>& c) const {
    Index row = 0;
    for (int d = 0; d < D - 1; ++d) row = row * count[d] + c[d];
    return row * row_strips * strip_lanes + c[D - 1];
  }
  Coord<D> coordinate(Index slot) const {
    const Index row_slots = row_strips * strip_lanes;
    Coord<D> c = row_coordinate(slot / row_slots);
    c[D - 1] = slot % row_slots;
    return c;
  }
  /// Samples in strip s of a row.
  int lanes(Index s) const { return static_cast<int>(std::min<Index>(strip_lanes, count[D - 1] - s * strip_lanes)); }

  /// Colours of the neighbours of a strip differ from its own.
  int colour(const Coord<D>& row_start, Index s) const {
    int sum = axis_colour(s, row_strips, periodic[D - 1]);
    for (int d = 0; d < D - 1; ++d) sum += axis_colour(row_start[d], count[d], periodic[d]);
    return sum % colours;
  }
  static int axis_colour(Index i, Index n, bool wraps) {
    return wraps && n % 2 == 1 && n > 1 && i == n - 1 ? 2 : static_cast<int>(i % 2);
  }
};

/// A strip with its neighbours: -1 where there is none.
template <int D>
struct StripPlace {
  Index strip;
  Index s;  ///< position in the row
  int lanes;
  int lanes_before;                 ///< in the strip before; strip_lanes where there is none
  Coord<D> start;                   ///< coordinates of the first sample
  std::array<Index, 2 * D> beside;  ///< below and above along each axis; along the last the strips before and after

  static StripPlace of(const StripGrid<D>& g, Index strip) {
    const Index row = strip / g.row_strips;
    return of(g, g.row_coordinate(row), row, strip % g.row_strips);
  }
  static StripPlace of(const StripGrid<D>& g, const Coord<D>& row_start, Index row, Index s) {
    StripPlace p;
    p.strip = row * g.row_strips + s;
    p.s = s;
    p.lanes = g.lanes(s);
    p.start = row_start;
    p.start[D - 1] = s * strip_lanes;
    Index stride = 1;
    for (int d = D - 2; d >= 0; --d) {
      for (int up = 0; up < 2; ++up) {
        const Index n = g.neighbour(d, row_start[d], up ? 1 : -1);
        p.beside[static_cast<std::size_t>(2 * d + up)] = n < 0 ? -1 : (row + (n - row_start[d]) * stride) * g.row_strips + s;
      }
      stride *= g.count[d];
    }
    const bool wraps = g.periodic[D - 1];
    const Index low = row * g.row_strips, high = low + g.row_strips - 1;
    p.beside[2 * D - 2] = p.strip > low ? p.strip - 1 : wraps ? high : -1;
    p.beside[2 * D - 1] = p.strip < high ? p.strip + 1 : wraps ? low : -1;
    p.lanes_before = p.strip > low || !wraps ? strip_lanes : g.lanes(g.row_strips - 1);
    return p;
  }
};

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
  }

  /// May be called from any thread.
  void add(Index strip) {
    const Index row = strip / grid_.row_strips;
    add(grid_.row_coordinate(row), row, strip % grid_.row_strips);
  }
  void add(const Coord<D>& row_start, Index row, Index s) {
    const int c = grid_.colour(row_start, s);
    std::atomic_ref<std::uint64_t>(words(c, row)[s / word_bits])
        .fetch_or(std::uint64_t{1} << (s % word_bits), std::memory_order_relaxed);
    auto& pending = pending_[static_cast<std::size_t>(c)];
    if (!pending.load(std::memory_order_relaxed)) pending.store(true, std::memory_order_relaxed);
  }
  /// Adds the neighbours of a strip for which wanted(which) is true.
  template <class Wanted>
  void add_beside(const StripPlace<D>& p, Wanted&& wanted) {
    for (std::size_t which = 0; which < 2 * D; ++which)
      if (p.beside[which] >= 0 && p.beside[which] != p.strip && wanted(which)) add(p.beside[which]);
  }

  /// Calls update(place) for strips on the list until it is empty; `update` adds the neighbours that
  /// it affects. Returns the number of rounds.
  template <class Update>
  Index run(Update&& update) {
    for (Index rounds = 0;; ++rounds) {
      bool any = false;
      for (int c = 0; c < grid_.colours; ++c) {
        if (!pending_[static_cast<std::size_t>(c)].exchange(false, std::memory_order_relaxed)) continue;
        any = true;
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
      if (!any) return rounds;
    }
  }

 private:
  static constexpr Index word_bits = 64;
  std::uint64_t* words(int c, Index row) const { return bits_.data() + (c * grid_.rows + row) * row_words_; }

  const StripGrid<D>& grid_;
  Index row_words_;
  Workspace::Lease<std::uint64_t> bits_;
  std::array<std::atomic<bool>, 3> pending_{};
};

}  // namespace meniscus::surface
