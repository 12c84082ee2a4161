#include "meniscus/surface/redistancing/extension.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/surface/redistancing/distance_strips.hpp"
#include "meniscus/surface/redistancing/priority_queue.hpp"
#include "meniscus/surface/redistancing/staggered_level.hpp"
#include "meniscus/surface/redistancing/upwind_mean.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

namespace meniscus::surface {
namespace {

enum StripKind : std::uint8_t { idle = 0, source = 1, target = 2 };

/// The samples that take part, in strips.
template <class T, int D>
class Extension {
 public:
  static constexpr int n = strip_lanes;
  using Mask = MaskOf<T>;

  Extension(grid::Field<T, D>& field, const grid::Field<T, D>& phi, std::uint8_t* known, double band, ExtensionSide side,
            Workspace& workspace)
      : field_(field),
        view_(field.view()),
        known_(known),
        phi_(phi),
        level_at_(phi, field.layout()),
        band_(static_cast<T>(band)),
        side_(side),
        workspace_(workspace),
        grid_(field.layout()),
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

  ExtensionCounts run() {
    find_targets();
    add_sources();
    propagate();
    if (fill_minima()) propagate();
    return commit();
  }

 private:
  Coord<D> index(const StripPlace<D>& p) const {
    Coord<D> c = p.start;
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

  template <class Body>
  void for_each_strip(Body&& body) const {
    parallel_for(0, grid_.rows, grid_.piece(), [&](Index b, Index e) {
      simd_dispatch([&] {
        for (Index row = b; row < e; ++row) {
          const Coord<D> start = grid_.row_coordinate(row);
          for (Index s = 0; s < grid_.row_strips; ++s) body(start, row, s);
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
            const Index i = grid_.neighbour(d, start[d], step);
            near |= i >= 0 && rows_.data()[row + (i - start[d]) * stride];
          }
          stride *= grid_.count[d];
        }
        for (Index s = 0; near && s < grid_.row_strips; ++s) body(start, row, s);
      }
    });
  }

  /// phi at the samples of a strip; the largest number in lanes beyond the row.
  MENISCUS_INLINE void levels(Coord<D> c, Index s, T* key) const {
    const int lanes = grid_.lanes(s);
    c[D - 1] = s * n;
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
    if (!all_finite) require_finite(phi_, "the level set");
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
    if (!all_finite) refuse();
  }

  /// Names the first known value that is not finite.
  void refuse() const {
    Coord<D> c{};
    for (;;) {
      const T f = *view_.at(c);
      if (known_[sample(c)] && !std::isfinite(f)) {
        std::ostringstream where;
        for (std::size_t d = 0; d < D; ++d) where << (d ? ", " : "") << c[d];
        require(false, "field must be finite where it is known, but [", where.str(), "] is ", f);
      }
      std::size_t d = D;
      while (d-- > 0 && ++c[d] == view_.extents[d]) c[d] = 0;
    }
  }

  void propagate() {
    queue_.run(exchange_, [&](const StripPlace<D>& p) { update(p); }, [] {});
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

  /// Targets that nothing has reached, but that have known samples beside them, take the mean of those; what only they reach
  /// follows, in the order of the keys. True if there are any.
  bool fill_minima() {
    std::atomic<bool> any{false};
    for_each_strip_near(false, [&](const Coord<D>& start, Index row, Index s) {
      if (kind_.data()[row * grid_.row_strips + s] != target) return;
      for_each_unreached(start, row, s, [&](const Coord<D>& c, Index) {
        if (mean_beside(c) == mean_beside(c)) any.store(true, std::memory_order_relaxed);
      });
    });
    if (!any) return false;
    PriorityQueue<T> heap(workspace_, 1 << 10);
    for (Index row = 0; row < grid_.rows; ++row)
      for (Index s = rows_.data()[row] ? 0 : grid_.row_strips; s < grid_.row_strips; ++s)
        if (kind_.data()[row * grid_.row_strips + s] == target)
          for_each_unreached(grid_.row_coordinate(row), row, s, [&](const Coord<D>& c, Index slot) {
            if (mean_beside(c) == mean_beside(c)) heap.push({level_.data()[slot], slot});
          });
    while (!heap.empty()) {
      const Index slot = heap.pop().slot;
      T& own = value_.data()[slot];
      if (own == own) continue;
      const Coord<D> c = grid_.coordinate(slot);
      const T upwind_mean = mean_upwind(c, slot);
      own = upwind_mean == upwind_mean ? upwind_mean : mean_beside(c);
      queue_.add(slot / n);
      queue_.add_beside(StripPlace<D>::of(grid_, slot / n), [](std::size_t) { return true; });
      grid_.for_each_beside(c, [&](int, const Coord<D>& q) {
        const Index other = grid_.slot(q);
        const bool unreached = kind_.data()[other / n] == target && (open_.data()[other / n] >> (other % n) & 1) &&
                               value_.data()[other] != value_.data()[other];
        if (unreached && level_.data()[other] > level_.data()[slot]) heap.push({level_.data()[other], other});
      });
    }
    return true;
  }

  template <class Visit>
  void for_each_unreached(const Coord<D>& start, Index row, Index s, Visit&& visit) const {
    const Index strip = row * grid_.row_strips + s;
    const T* own = value_.data() + strip * n;
    for (unsigned open = open_.data()[strip]; open != 0; open &= open - 1) {
      const int k = std::countr_zero(open);
      if (own[k] == own[k]) continue;
      Coord<D> c = start;
      c[D - 1] = s * n + k;
      visit(c, strip * n + k);
    }
  }
  /// Mean of the known samples beside; NaN where there are none.
  T mean_beside(const Coord<D>& c) const {
    T reference = T(0), sum = T(0);
    int count = 0;
    grid_.for_each_beside(c, [&](int, Coord<D> q) {
      for (std::size_t e = 0; e < D; ++e) q[e] += grid_.first[e];
      if (!known_[sample(q)]) return;
      const T f = *view_.at(q);
      if (count++ == 0) reference = f;
      sum += f - reference;
    });
    return count ? reference + sum / static_cast<T>(count) : std::numeric_limits<T>::quiet_NaN();
  }

  /// Result of `update` for one sample; NaN if no neighbour of smaller key has a value.
  T mean_upwind(const Coord<D>& c, Index slot) const {
    std::array<T, 2 * D> key, f;
    key.fill(std::numeric_limits<T>::max());
    f.fill(std::numeric_limits<T>::quiet_NaN());
    std::size_t i = 0;
    for (int d = 0; d < D; ++d)
      for (const int step : {-1, 1}) {
        Coord<D> q = c;
        q[d] = grid_.neighbour(d, c[d], step);
        if (q[d] >= 0) {
          const Index other = grid_.slot(q);
          key[i] = level(other / n)[other % n];
          f[i] = value(other / n)[other % n];
        }
        ++i;
      }
    T weight = T(0), sum = T(0), reference = T(0);
    for (i = 0; i < 2 * D; i += 2) {
      const Upwind<T> u = upwind<T>(level_.data()[slot], key[i], f[i], key[i + 1], f[i + 1]);
      if (!(u.weight > T(0))) continue;
      reference = weight > T(0) ? reference : u.value;
      sum += u.weight * (u.value - reference);
      weight += u.weight;
    }
    return weight > T(0) ? reference + sum / weight : std::numeric_limits<T>::quiet_NaN();
  }

  ExtensionCounts commit() {
    const NoInterrupts whole;
    const ExtensionCounts counts = parallel_reduce(
        0, grid_.rows, grid_.piece(), ExtensionCounts{},
        [&](Index b, Index e) {
          ExtensionCounts c;
          for (Index row = b; row < e; ++row) {
            if (!rows_.data()[row]) continue;
            const Coord<D> start = grid_.row_coordinate(row);
            for (Index s = 0; s < grid_.row_strips; ++s) {
              const Index strip = row * grid_.row_strips + s;
              if (kind_.data()[strip] != target) continue;
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
            }
          }
          return c;
        },
        [](ExtensionCounts a, ExtensionCounts b) { return ExtensionCounts{a.reached + b.reached, a.unreached + b.unreached}; });
    copy_shared();
    return counts;
  }

  /// Copies on shared sides follow their owners.
  void copy_shared() {
    field_.layout().halo.exchange(field_.storage().data());
    field_.layout().copies().exchange(known_);
  }

  grid::Field<T, D>& field_;
  grid::FieldView<T, D> view_;
  std::uint8_t* known_;
  const grid::Field<T, D>& phi_;
  StaggeredLevel<T, D> level_at_;
  T band_;
  ExtensionSide side_;
  Workspace& workspace_;
  StripGrid<D> grid_;
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

}  // namespace

template <class T, int D>
ExtensionCounts extend(grid::Field<T, D>& field, const grid::Field<T, D>& phi, std::uint8_t* known, double band,
                       ExtensionSide side, Workspace& workspace) {
  require(band > 0.0, "band must be positive, got ", band);
  require(field.grid() == phi.grid(), "field and level set must have the same grid");
  grid::require_one_block(field.grid(), "extension of a field");
  return Extension<T, D>(field, phi, known, band, side, workspace).run();
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                          \
  template ExtensionCounts extend<T, D>(grid::Field<T, D>&, const grid::Field<T, D>&, std::uint8_t*, double, ExtensionSide, \
                                        Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
