/// The samples that take part in the extension of a field, in strips.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/surface/redistancing/distance_strips.hpp"
#include "meniscus/surface/redistancing/extension.hpp"
#include "meniscus/surface/redistancing/staggered_level.hpp"
#include "meniscus/surface/redistancing/upwind_mean.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

namespace meniscus::surface {

enum StripKind : std::uint8_t { idle = 0, source = 1, target = 2 };

/// Extension of a field, or of the window of a block of it. Values are determined by the order of phi alone, so neither the order
/// of updates nor the blocks of the domain matter to them.
template <class T, int D>
class Extension {
 public:
  static constexpr int n = strip_lanes;
  using Mask = MaskOf<T>;

  /// `view` and `known`: the arrays that `strips` describes.
  Extension(const grid::Field<T, D>& field, const grid::Field<T, D>& phi, const StripGrid<D>& strips,
            const grid::FieldView<T, D>& view, std::uint8_t* known, double band, ExtensionSide side, Workspace& workspace)
      : field_(field),
        view_(view),
        known_(known),
        phi_(phi),
        level_at_(phi, field.stagger(), strips, workspace),
        band_(static_cast<T>(band)),
        side_(side),
        grid_(strips),
        exchange_(field.grid(), grid_),
        queue_(grid_, workspace),
        kind_(workspace.take<std::uint8_t>(grid_.strips())),
        rows_(workspace.take<std::uint8_t>(grid_.rows)),
        open_(workspace.take<std::uint16_t>(grid_.strips())),
        level_(workspace.take<T>(grid_.strips() * n)),
        value_(workspace.take<T>(grid_.strips() * n)) {
    level_nowhere_.fill(std::numeric_limits<T>::max());
    value_nowhere_.fill(std::numeric_limits<T>::quiet_NaN());
  }

  /// Throws before any sample of the arrays is changed.
  void run() {
    find_targets();
    add_sources();
    propagate();
    if (fill_minima()) propagate();
  }

  /// Changes the arrays.
  ExtensionCounts commit() {
    return parallel_reduce(
        0, grid_.rows, grid_.piece(), ExtensionCounts{},
        [&](Index b, Index e) {
          ExtensionCounts c;
          for (Index row = b; row < e; ++row) {
            if (!rows_.data()[row]) continue;
            const Coord<D> start = grid_.row_coordinate(row);
            for_each_own_strip(start, [&](Index s) {
              const Index strip = row * grid_.row_strips + s;
              if (kind_.data()[strip] != target) return;
              const StripPlace<D> p = StripPlace<D>::of(grid_, start, row, s);
              const Coord<D> at = index(p);
              T* f = view_.at(at);
              std::uint8_t* known = known_ + sample(at);
              const T* key = level_.data() + strip * n;
              const T* own = value_.data() + strip * n;
              for (int k = 0; k < p.lanes; ++k) {
                if (known[k]) continue;
                if (own[k] == own[k]) {
                  f[k] = own[k];
                  known[k] = 1;
                  ++c.reached;
                } else if (std::abs(key[k]) < band_) {
                  ++c.unreached;
                }
              }
            });
          }
          return c;
        },
        [](ExtensionCounts a, ExtensionCounts b) { return ExtensionCounts{a.reached + b.reached, a.unreached + b.unreached}; });
  }

 private:
  Coord<D> index(const StripPlace<D>& p) const { return index(p.start); }
  Coord<D> index(Coord<D> c) const {
    for (std::size_t d = 0; d < D; ++d) c[d] += grid_.first[d];
    return c;
  }
  Index sample(const Coord<D>& c) const { return dot<D>(c, c_strides<D>(view_.extents)); }
  const T* level(Index strip) const {
    return strip >= 0 && kind_.data()[strip] ? level_.data() + strip * n : level_nowhere_.data();
  }
  const T* value(Index strip) const {
    return strip >= 0 && kind_.data()[strip] ? value_.data() + strip * n : value_nowhere_.data();
  }

  /// Calls body(s) for the strips of a row that this block updates.
  template <class Body>
  MENISCUS_INLINE void for_each_own_strip(const Coord<D>& start, Body&& body) const {
    if (grid_.cut && !grid_.own_row(start)) return;
    for (Index s = grid_.own_begin; s < grid_.own_end; ++s) body(s);
  }

  template <class Body>
  void for_each_strip(Body&& body) const {
    parallel_for(0, grid_.rows, grid_.piece(), [&](Index b, Index e) {
      simd_dispatch([&] {
        for (Index row = b; row < e; ++row) {
          const Coord<D> start = grid_.row_coordinate(row);
          for_each_own_strip(start, [&](Index s) { body(start, row, s); });
        }
      });
    });
  }

  /// The same for the strips of rows that have targets, and if asked for of rows beside them.
  template <class Body>
  void for_each_strip_near(bool beside, Body&& body) const {
    parallel_for(0, grid_.rows, grid_.piece(), [&](Index b, Index e) {
      for (Index row = b; row < e; ++row) {
        const Coord<D> start = grid_.row_coordinate(row);
        bool near = rows_.data()[row] != 0;
        Index stride = 1;
        for (int d = D - 2; d >= 0 && beside; --d) {
          for (const int step : {-1, 1}) {
            const Index i = grid_.row_neighbour(d, start[d], step);
            near |= i >= 0 && rows_.data()[row + (i - start[d]) * stride];
          }
          stride *= grid_.row_extent[d];
        }
        if (near) for_each_own_strip(start, [&](Index s) { body(start, row, s); });
      }
    });
  }

  /// phi at the samples of a strip; the largest number in lanes beyond the row.
  MENISCUS_INLINE void levels(Coord<D> c, Index s, T* key) const {
    const int lanes = grid_.lanes(s);
    c[D - 1] = grid_.strip_start(s);
    for (std::size_t d = 0; d < D; ++d) c[d] += grid_.first[d];
    if (lanes == n) {
      level_at_.sample(c, n, key);
    } else {
      for (int k = 0; k < n; ++k) key[k] = std::numeric_limits<T>::max();
      level_at_.sample(c, lanes, key);
    }
  }

  /// Samples of a strip that are to be computed.
  std::uint16_t open_lanes(const StripPlace<D>& p, const T* key) const {
    const std::uint8_t* known = known_ + sample(index(p));
    unsigned open = 0;
    for (int k = 0; k < p.lanes; ++k) open |= static_cast<unsigned>(!known[k] & (std::abs(key[k]) < band_)) << k;
    return static_cast<std::uint16_t>(open);
  }

  MENISCUS_INLINE void store(const StripPlace<D>& p, const T* key, std::uint16_t open) const {
    const Coord<D> c = index(p);
    const std::uint8_t* known = known_ + sample(c);
    const T* f = view_.at(c);
    T* level = level_.data() + p.strip * n;
    T* value = value_.data() + p.strip * n;
    for (int k = 0; k < n; ++k) level[k] = side_ == ExtensionSide::both ? std::abs(key[k]) : key[k];
    for (int k = 0; k < n; ++k) value[k] = k < p.lanes && known[k] ? f[k] : std::numeric_limits<T>::quiet_NaN();
    open_.data()[p.strip] = open;
  }

  void find_targets() {
    std::atomic<bool> all_finite{true};
    std::fill(rows_.data(), rows_.data() + grid_.rows, std::uint8_t{0});
    if (grid_.cut) std::fill(kind_.data(), kind_.data() + grid_.strips(), std::uint8_t{idle});
    for_each_strip([&](const Coord<D>& start, Index row, Index s) {
      // Most strips are far from the surface, and end here.
      alignas(64) T key[n];
      levels(start, s, key);
      Mask near = 0, bad = 0;
#pragma GCC unroll 1
      for (int k = 0; k < n; ++k) near |= static_cast<Mask>(std::abs(key[k]) < band_);
#pragma GCC unroll 1
      for (int k = 0; k < n; ++k) bad |= static_cast<Mask>(!(std::abs(key[k]) <= std::numeric_limits<T>::max()));
      if (bad) all_finite.store(false, std::memory_order_relaxed);
      std::uint8_t& kind = kind_.data()[row * grid_.row_strips + s];
      kind = idle;
      if (!near) return;
      const StripPlace<D> p = StripPlace<D>::of(grid_, start, row, s);
      const std::uint16_t open = open_lanes(p, key);
      if (!open) return;
      kind = target;
      rows_.data()[row] = 1;
      store(p, key, open);
      queue_.add(p.strip);
    });
    if (exchange_.any(!all_finite)) {
      require_finite(phi_, "the level set");
      require(false, "the level set must be finite, but a sample of another block is not");
    }
    if (!grid_.cut) return;
    exchange_.fill_ghosts(kind_.data());
    for (Index strip = 0; strip < grid_.strips(); ++strip)
      if (kind_.data()[strip] == target) rows_.data()[strip / grid_.row_strips] = 1;
  }

  /// Strips beside targets, for reading.
  void add_sources() {
    for_each_strip_near(true, [&](const Coord<D>& start, Index row, Index s) {
      std::uint8_t& kind = kind_.data()[row * grid_.row_strips + s];
      if (kind == target) return;
      const StripPlace<D> p = StripPlace<D>::of(grid_, start, row, s);
      bool beside = false;
      // Only targets are looked for, which this loop neither makes nor removes.
      for (const Index q : p.beside)
        beside |= q >= 0 && std::atomic_ref<std::uint8_t>(kind_.data()[q]).load(std::memory_order_relaxed) == target;
      if (!beside) return;
      alignas(64) T key[n];
      levels(start, s, key);
      store(p, key, 0);
      std::atomic_ref<std::uint8_t>(kind).store(source, std::memory_order_relaxed);
    });
    std::atomic<bool> all_finite{true};
    for_each_strip_near(true, [&](const Coord<D>& start, Index row, Index s) {
      if (!kind_.data()[row * grid_.row_strips + s]) return;
      const StripPlace<D> p = StripPlace<D>::of(grid_, start, row, s);
      const Coord<D> c = index(p);
      const std::uint8_t* known = known_ + sample(c);
      const T* f = view_.at(c);
      int bad = 0;
      for (int k = 0; k < p.lanes; ++k) bad |= static_cast<int>(known[k] && !(f[k] - f[k] == T(0)));
      if (bad) all_finite.store(false, std::memory_order_relaxed);
    });
    if (exchange_.any(!all_finite)) refuse();
    if (!grid_.cut) return;
    exchange_.fill_ghosts(kind_.data(), whole_strips(level_), whole_strips(value_));
  }

  /// Names the first known value in the arrays that is not finite.
  void refuse() const {
    for (Index i = 0; i < product<D>(view_.extents); ++i) {
      Coord<D> c;
      Index rest = i;
      for (std::size_t d = D; d-- > 0; rest /= view_.extents[d]) c[d] = rest % view_.extents[d];
      const T f = *view_.at(c);
      if (!known_[sample(c)] || std::isfinite(f)) continue;
      std::ostringstream where;
      for (std::size_t d = 0; d < D; ++d) where << (d ? ", " : "") << global_index(d, c[d]);
      require(false, "field must be finite where it is known, but [", where.str(), "] is ", f);
    }
    require(false, "field must be finite where it is known, but a sample of another block is not");
  }
  /// Index in the domain of index i of the arrays.
  Index global_index(std::size_t axis, Index i) const {
    if (!grid_.cut) return i;
    const int first = grid_.periods()[axis] > 0 ? field_.stagger().on_side[axis] : 0;
    const Index at = i - grid_.first[axis] - grid_.shift[axis], period = grid_.periods()[axis];
    return first + (period ? parallel::image_in_period(at, period) : at);
  }

  static std::array<T, n>* whole_strips(const Workspace::Lease<T>& lanes) {
    return reinterpret_cast<std::array<T, n>*>(lanes.data());
  }

  void propagate() {
    queue_.run(exchange_, [&](const StripPlace<D>& p) { update(p); }, whole_strips(value_));
  }

  MENISCUS_INLINE void update(const StripPlace<D>& p) {
    if (kind_.data()[p.strip] != target) return;
    const unsigned open = open_.data()[p.strip];
    const T* key = level_.data() + p.strip * n;
    T* own = value_.data() + p.strip * n;
    std::array<const T*, 2 * D> levels, values;
    for (std::size_t d = 0; d < 2 * D; ++d) {
      levels[d] = level(p.beside[d]);
      values[d] = value(p.beside[d]);
    }
    alignas(64) T before[n];
    for (int k = 0; k < n; ++k) before[k] = own[k];
    if (!upwind_means<T, D>(p, open, key, levels, values, own)) return;
    const auto differs = [&](int k) { return std::bit_cast<Mask>(own[k]) != std::bit_cast<Mask>(before[k]); };
    for (std::size_t d = 0; d < 2 * D - 2; ++d) {
      if (p.beside[d] < 0 || p.beside[d] == p.strip || kind_.data()[p.beside[d]] != target) continue;
      Mask concerned = 0;
      const T* other = levels[d];
#pragma GCC unroll 1
      for (int k = 0; k < n; ++k) {
        const Mask differ = std::bit_cast<Mask>(own[k]) ^ std::bit_cast<Mask>(before[k]);
        concerned |= key[k] < other[k] ? differ : Mask{0};
      }
      if (concerned) queue_.add(p.beside[d]);
    }
    const Index previous = p.beside[2 * D - 2], following = p.beside[2 * D - 1];
    if (previous >= 0 && previous != p.strip && differs(0) && key[0] < levels[2 * D - 2][p.lanes_before - 1])
      queue_.add(previous);
    if (following >= 0 && following != p.strip && differs(p.lanes - 1) && key[p.lanes - 1] < levels[2 * D - 1][0])
      queue_.add(following);
  }

  /// Targets that nothing has reached, but that have known samples beside them, begin with the mean of those. What comes from a
  /// neighbour of smaller phi replaces it, also where that neighbour began so. True if there are any.
  bool fill_minima() {
    std::atomic<bool> any{false};
    for_each_strip_near(false, [&](const Coord<D>& start, Index row, Index s) {
      const Index strip = row * grid_.row_strips + s;
      if (kind_.data()[strip] != target) return;
      const StripPlace<D> p = StripPlace<D>::of(grid_, start, row, s);
      T* own = value_.data() + strip * n;
      bool found = false;
      for (unsigned open = open_.data()[strip]; open != 0; open &= open - 1) {
        const int k = std::countr_zero(open);
        if (own[k] == own[k]) continue;
        Coord<D> c = p.start;
        c[D - 1] += k;
        own[k] = mean_beside(c);
        found |= own[k] == own[k];
      }
      if (!found) return;
      any.store(true, std::memory_order_relaxed);
      queue_.add(start, row, s);
      queue_.add_beside(p, [](std::size_t) { return true; });
    });
    if (!exchange_.any(any)) return false;
    queue_.share(exchange_, whole_strips(value_));
    return true;
  }

  /// Mean of the known samples beside; NaN where there are none.
  T mean_beside(const Coord<D>& c) const {
    T reference = T(0), sum = T(0);
    int count = 0;
    grid_.for_each_beside(c, [&](int, const Coord<D>& beside) {
      const Coord<D> q = index(beside);
      if (!known_[sample(q)]) return;
      const T f = *view_.at(q);
      if (count++ == 0) reference = f;
      sum += f - reference;
    });
    return count ? reference + sum / static_cast<T>(count) : std::numeric_limits<T>::quiet_NaN();
  }

  const grid::Field<T, D>& field_;
  grid::FieldView<T, D> view_;
  std::uint8_t* known_;
  const grid::Field<T, D>& phi_;
  StaggeredLevel<T, D> level_at_;
  T band_;
  ExtensionSide side_;
  const StripGrid<D>& grid_;
  StripExchange<D> exchange_;
  StripQueue<D> queue_;
  Workspace::Lease<std::uint8_t> kind_;
  Workspace::Lease<std::uint8_t> rows_;  ///< rows that have targets
  Workspace::Lease<std::uint16_t> open_;
  Workspace::Lease<T> level_;
  Workspace::Lease<T> value_;
  std::array<T, n> level_nowhere_;
  std::array<T, n> value_nowhere_;
};

}  // namespace meniscus::surface
