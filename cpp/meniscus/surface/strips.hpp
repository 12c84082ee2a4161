/// Relaxation of scattered parts of a grid: strips of consecutive samples along the last axis are brought up to date in rounds,
/// and only strips beside a change take part.
///
/// Strips are coloured so that no two neighbours share a colour, and one colour is worked on at a time. The result therefore
/// depends on which strips take part and not on their order, however many threads there are.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

#include <atomic>

namespace meniscus {

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

  explicit StripGrid(const FieldLayout<D>& layout);

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

  /// The same for another strip.
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

/// Which strips have to be looked at (again).
template <int D>
class StripQueue {
 public:
  StripQueue(const StripGrid<D>& grid, Workspace& workspace)
      : grid_(grid),
        strips_(workspace.take<std::uint8_t>(grid.strips())),
        rows_(workspace.take<std::uint8_t>(grid.rows * grid.colours)) {
    clear(strips_.data(), strips_.size());
    clear(rows_.data(), rows_.size());
  }

  /// From any thread.
  void add(Index strip) {
    const Index row = strip / grid_.row_strips;
    const int c = grid_.colour(grid_.row_coordinate(row), strip % grid_.row_strips);
    raise(strips_.data()[strip]);
    raise(rows_.data()[c * grid_.rows + row]);
    pending_[static_cast<std::size_t>(c)].store(true, std::memory_order_relaxed);
  }

  /// Calls update(place) for strips on the list until it is empty; `update` adds the neighbours that it concerns. Returns the
  /// number of rounds.
  template <class Update>
  Index run(Update&& update) {
    Index rounds = 0;
    for (;; ++rounds) {
      bool any = false;
      for (int c = 0; c < grid_.colours; ++c) {
        if (!pending_[static_cast<std::size_t>(c)].exchange(false, std::memory_order_relaxed)) continue;
        any = true;
        parallel_for(0, grid_.rows, grid_.piece(), [&](Index b, Index e) {
          simd_dispatch([&] {
            for (Index row = b; row < e; ++row) {
              std::uint8_t& row_flag = rows_.data()[c * grid_.rows + row];
              if (!row_flag) continue;
              row_flag = 0;
              const Coord<D> start = grid_.row_coordinate(row);
              for (Index s = 0; s < grid_.row_strips; ++s) {
                std::uint8_t& flag = strips_.data()[row * grid_.row_strips + s];
                // Flags of other colours belong to the next pass; this one may not even look at them.
                if (grid_.colour(start, s) != c || !flag) continue;
                flag = 0;
                update(StripPlace<D>::of(grid_, start, row, s));
              }
            }
          });
        });
      }
      if (!any) return rounds;
    }
  }

 private:
  static void raise(std::uint8_t& flag) { std::atomic_ref<std::uint8_t>(flag).store(1, std::memory_order_relaxed); }
  static void clear(std::uint8_t* p, Index n) {
    parallel_for(0, n, 1 << 18, [&](Index b, Index e) { std::fill(p + b, p + e, std::uint8_t{0}); });
  }

  const StripGrid<D>& grid_;
  Workspace::Lease<std::uint8_t> strips_;
  Workspace::Lease<std::uint8_t> rows_;
  std::array<std::atomic<bool>, 3> pending_{};
};

}  // namespace meniscus
