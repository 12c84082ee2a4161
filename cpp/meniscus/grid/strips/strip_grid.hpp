/// Division of the samples of a field into strips: runs of up to `strip_lanes` consecutive samples along the last axis.
///
/// Strips hold distinct samples: of the two copies of a sample on a periodic side only one.
///
/// The division belongs to the domain and not to its blocks, so that results do not depend on where a domain is cut: a strip
/// that lies in several blocks is updated by the block that owns its first sample. That block works on windows, which hold the
/// samples of its strips and of a margin around them (see StripWindow).
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/parallel/box_exchange.hpp"

namespace meniscus::grid {

/// Samples per strip: the widest vector of floats.
inline constexpr int strip_lanes = 16;
/// Samples of a window on each side of the strips of a block: a search for a closest point begins at most one sample beside a
/// strip, goes up to three cells far and reads two samples more.
inline constexpr Index window_margin = 6;

/// The distinct samples of a field in strips. Coordinates count from the first distinct sample of the domain; of the two copies
/// of a shared side the last is the owner. On a periodic axis that is cut, coordinates of a block do not wrap: they count on from
/// a multiple of the period that is large enough for all samples of the window to be positive.
template <int D>
struct StripGrid {
  Coord<D> first;    ///< index of coordinate 0 in arrays of samples: those of the field, or of the window of a block
  Coord<D> extents;  ///< of these arrays
  Coord<D> count;    ///< distinct samples of the domain per axis
  /// Samples whose strips this block updates, and samples in its window, which are all of the domain unless it is cut.
  parallel::IndexBox<D> own, window;
  Coord<D> row_begin{};  ///< coordinates of the first row of strips that is stored; one row of ghosts beside a cut
  Coord<D> row_extent;   ///< rows of strips that are stored per axis
  Index rows = 1;
  Index row_strips;              ///< strips per row that are stored; one ghost before and after a cut
  Index own_begin = 0, own_end;  ///< those of the block
  Index strip_begin = 0;         ///< number in the domain of the first strip that is stored
  Index domain_strips;           ///< strips per row of the domain
  int colours = 2;
  bool cut;
  Coord<D> shift{};             ///< coordinates in the block minus those in the domain
  parallel::IndexBox<D> block;  ///< samples of the domain that the block owns

  explicit StripGrid(const FieldLayout<D>& layout);

  Index strips() const { return rows * row_strips; }
  /// Rows per piece of a parallel loop.
  Index piece() const { return std::max<Index>(1, rows / 256); }

  /// Coordinates of the first sample of a row, which is 0 along the last axis.
  Coord<D> row_coordinate(Index row) const {
    Coord<D> c{};
    for (int d = D - 2; d >= 0; --d) {
      c[d] = row_begin[d] + row % row_extent[d];
      row /= row_extent[d];
    }
    return c;
  }
  /// Samples around periodic axes, 0 for others.
  Coord<D> periods() const {
    Coord<D> n{};
    for (std::size_t d = 0; d < D; ++d) n[d] = closed_[d] ? count[d] : 0;
    return n;
  }
  /// Whether this block updates the strips of a row, and a strip.
  bool own_row(const Coord<D>& row_start) const {
    bool own_one = true;
    for (std::size_t d = 0; d + 1 < D; ++d) own_one &= row_start[d] >= own.begin[d] && row_start[d] < own.end[d];
    return own_one;
  }
  bool own_strip(const Coord<D>& row_start, Index s) const {
    return !cut || (s >= own_begin && s < own_end && own_row(row_start));
  }

  /// Coordinate `i` + `step` of an axis, or -1 outside of the domain.
  Index neighbour(int axis, Index i, int step) const {
    i += step;
    if (i >= 0 && i < count[axis]) return i;
    if (!closed_[axis]) return -1;
    if (!ring_[axis]) return i;
    return i < 0 ? count[axis] - 1 : 0;
  }
  /// The same for rows of strips; -1 also beyond those that are stored.
  Index row_neighbour(int axis, Index i, int step) const {
    const Index n = neighbour(axis, i, step);
    return n >= row_begin[axis] && n < row_begin[axis] + row_extent[axis] ? n : -1;
  }
  /// The strip before and after one in its row, or -1.
  Index strip_before(Index s) const { return s > 0 ? s - 1 : ring_[D - 1] ? row_strips - 1 : -1; }
  Index strip_after(Index s) const { return s < row_strips - 1 ? s + 1 : ring_[D - 1] ? 0 : -1; }
  /// Whether the samples before or after a strip are not beside it in memory.
  bool at_seam(Index s) const { return ring_[D - 1] && (s == 0 || s == row_strips - 1); }

  /// The sample with coordinate i, around a periodic axis; beyond a side of the domain the outermost.
  Index nearest(int axis, Index i) const {
    if (i >= 0 && i < count[axis]) return i;
    if (!closed_[axis]) return i < 0 ? 0 : count[axis] - 1;
    return ring_[axis] ? ((i % count[axis]) + count[axis]) % count[axis] : i;
  }
  /// Whether coordinate i lies beyond the lower or the upper side of the domain.
  bool below(int axis, Index i) const { return !closed_[axis] && i < 0; }
  bool above(int axis, Index i) const { return !closed_[axis] && i >= count[axis]; }
  /// The cell between i and i + 1, relative to a sample, or the nearest one of the domain.
  Index nearest_cell(int axis, Index sample, Index i) const {
    if (closed_[axis]) return i;
    return std::clamp<Index>(i, -sample, std::max<Index>(count[axis] - 2 - sample, -sample));
  }

  /// Calls visit(axis, coordinates) for the neighbours of a sample.
  template <class Visit>
  void for_each_beside(const Coord<D>& c, Visit&& visit) const {
    for (int d = 0; d < D; ++d)
      for (const int step : {-1, 1}) {
        Coord<D> q = c;
        q[d] = neighbour(d, c[d], step);
        if (q[d] >= 0) visit(d, q);
      }
  }

  /// Samples in strip s of a row.
  int lanes(Index s) const { return static_cast<int>(std::min<Index>(strip_lanes, count[D - 1] - number(s) * strip_lanes)); }
  /// Coordinate of the first sample of strip s.
  Index strip_start(Index s) const {
    if (!numbered_) return s * strip_lanes;
    const Index i = s + strip_begin;
    return i / domain_strips * count[D - 1] + i % domain_strips * strip_lanes;
  }
  /// Strip and lane of a sample, from its coordinate along the last axis.
  struct Lane {
    Index strip;
    int lane;
  };
  Lane lane_of(Index i) const {
    if (!numbered_) return {i / strip_lanes, static_cast<int>(i % strip_lanes)};
    const Index around = i / count[D - 1], rest = i % count[D - 1];
    return {around * domain_strips + rest / strip_lanes - strip_begin, static_cast<int>(rest % strip_lanes)};
  }

  /// Number of a sample among the lanes of all strips of a domain that is not cut, and back.
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
  /// Linear index of a sample in arrays.
  Index sample(const Coord<D>& c) const {
    Index n = 0;
    for (int d = 0; d < D; ++d) n = n * extents[d] + c[d] + first[d];
    return n;
  }

  /// Colours of the neighbours of a strip differ from its own. No two neighbours share one.
  int colour(const Coord<D>& row_start, Index s) const {
    int sum = axis_colour(number(s), domain_strips, closed_[D - 1]);
    for (int d = 0; d < D - 1; ++d)
      sum += axis_colour(cut && closed_[d] ? row_start[d] % count[d] : row_start[d], count[d], closed_[d]);
    return sum % colours;
  }

 private:
  template <int>
  friend class StripExchange;

  /// Number of a strip in the rows of the domain.
  Index number(Index s) const { return numbered_ ? (s + strip_begin) % domain_strips : s; }
  static int axis_colour(Index i, Index n, bool closed) {
    return closed && n % 2 == 1 && n > 1 && i == n - 1 ? 2 : static_cast<int>(i % 2);
  }
  void take_part();

  std::array<bool, D> closed_;  ///< periodic axes
  std::array<bool, D> ring_;    ///< periodic axes around which the block has all strips
  bool numbered_ = false;       ///< a part of every row is stored
  Index strip_shift_ = 0;       ///< coordinates in the block minus those in the domain, of strips along the last axis
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
    p.start[D - 1] = g.strip_start(s);
    Index stride = 1;
    for (int d = D - 2; d >= 0; --d) {
      for (int up = 0; up < 2; ++up) {
        const Index n = g.row_neighbour(d, row_start[d], up ? 1 : -1);
        p.beside[2 * d + up] = n < 0 ? -1 : (row + (n - row_start[d]) * stride) * g.row_strips + s;
      }
      stride *= g.row_extent[d];
    }
    const Index low = row * g.row_strips, before = g.strip_before(s), after = g.strip_after(s);
    p.beside[2 * D - 2] = before < 0 ? -1 : low + before;
    p.beside[2 * D - 1] = after < 0 ? -1 : low + after;
    p.lanes_before = before < 0 ? strip_lanes : g.lanes(before);
    return p;
  }
};

}  // namespace meniscus::grid
