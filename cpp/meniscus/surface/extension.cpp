#include "meniscus/surface/extension.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/surface/estimate_heap.hpp"
#include "meniscus/surface/staggered_level.hpp"

#include <cmath>
#include <limits>

namespace meniscus {
namespace {

enum StripKind : std::uint8_t { idle = 0, source = 1, target = 2 };

/// The samples that take part, in strips.
template <class T, int D>
class Extension {
 public:
  static constexpr int n = strip_lanes;

  Extension(Field<T, D>& field, const Field<T, D>& phi, std::uint8_t* known, double band, ExtensionSide side,
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
        queue_(grid_, workspace),
        kind_(workspace.take<std::uint8_t>(grid_.strips())),
        open_(workspace.take<std::uint16_t>(grid_.strips())),
        level_(workspace.take<T>(grid_.strips() * n)),
        value_(workspace.take<T>(grid_.strips() * n)) {
    level_nowhere_.fill(std::numeric_limits<T>::infinity());
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

  /// The key that orders the samples of a strip, and which of them are to be found.
  MENISCUS_INLINE std::uint16_t keys(const StripPlace<D>& p, T* key) const {
    const Coord<D> c = index(p);
    for (int k = 0; k < n; ++k) key[k] = std::numeric_limits<T>::infinity();
    level_at_.sample(c, p.lanes, key);
    const std::uint8_t* known = known_ + sample(c);
    unsigned open = 0;
    for (int k = 0; k < p.lanes; ++k) open |= static_cast<unsigned>(!known[k] & (std::abs(key[k]) < band_)) << k;
    if (side_ == ExtensionSide::both)
      for (int k = 0; k < n; ++k) key[k] = std::abs(key[k]);
    return static_cast<std::uint16_t>(open);
  }

  MENISCUS_INLINE void store(const StripPlace<D>& p, const T* key, std::uint16_t open) const {
    const Coord<D> c = index(p);
    const std::uint8_t* known = known_ + sample(c);
    const T* f = view_.at(c);
    T* level = level_.data() + p.strip * n;
    T* value = value_.data() + p.strip * n;
    for (int k = 0; k < n; ++k) level[k] = key[k];
    for (int k = 0; k < n; ++k) value[k] = k < p.lanes && known[k] ? f[k] : std::numeric_limits<T>::quiet_NaN();
    open_.data()[p.strip] = open;
  }

  void find_targets() {
    std::atomic<bool> all_finite{true};
    for_each_strip([&](const Coord<D>& start, Index row, Index s) {
      const StripPlace<D> p = StripPlace<D>::of(grid_, start, row, s);
      alignas(64) T key[n];
      const std::uint16_t open = keys(p, key);
      int bad = 0;
      for (int k = 0; k < p.lanes; ++k) bad |= static_cast<int>(!(key[k] - key[k] == T(0)));
      if (bad) all_finite.store(false, std::memory_order_relaxed);
      kind_.data()[p.strip] = open ? target : idle;
      if (!open) return;
      store(p, key, open);
      queue_.add(p.strip);
    });
    if (!all_finite) require_finite(phi_, "the level set");
  }

  /// Strips beside targets, for reading.
  void add_sources() {
    for_each_strip([&](const Coord<D>& start, Index row, Index s) {
      std::uint8_t& kind = kind_.data()[row * grid_.row_strips + s];
      if (kind == target) return;
      const StripPlace<D> p = StripPlace<D>::of(grid_, start, row, s);
      bool beside = false;
      // Only targets are looked for, which this loop neither makes nor removes.
      for (const Index q : p.beside)
        beside |= q >= 0 && std::atomic_ref<std::uint8_t>(kind_.data()[q]).load(std::memory_order_relaxed) == target;
      if (!beside) return;
      alignas(64) T key[n];
      keys(p, key);
      store(p, key, 0);
      std::atomic_ref<std::uint8_t>(kind).store(source, std::memory_order_relaxed);
    });
    std::atomic<bool> all_finite{true};
    for_each_strip([&](const Coord<D>& start, Index row, Index s) {
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

  /// What one axis contributes to a sample: the neighbour of smaller key that has a value, both where they are equal.
  struct Upwind {
    T weight;
    T value;
  };
  static MENISCUS_INLINE Upwind upwind(T own, T low, T low_value, T high, T high_value) {
    const T a = low_value == low_value && low < own ? low : own;
    const T b = high_value == high_value && high < own ? high : own;
    const T value = a < b ? low_value : b < a ? high_value : T(0.5) * (low_value + high_value);
    return {own - (a < b ? a : b), value};
  }

  void propagate() {
    queue_.run([&](const StripPlace<D>& p) { update(p); });
  }

  MENISCUS_INLINE void update(const StripPlace<D>& p) {
    const unsigned open = open_.data()[p.strip];
    if (kind_.data()[p.strip] != target) return;
    const bool own_ring = p.beside[2 * D - 1] == p.strip;
    const T* key = level_.data() + p.strip * n;
    T* own = value_.data() + p.strip * n;
    alignas(64) T weight[n], sum[n], reference[n], before[n], next[n], row_key[n + 2], row[n + 2];
    alignas(64) int is_open[n];
    std::array<const T*, 2 * D> levels, values;
    for (std::size_t d = 0; d < 2 * D; ++d) {
      levels[d] = level(p.beside[d]);
      values[d] = value(p.beside[d]);
    }
    for (int k = 0; k < n; ++k) {
      is_open[k] = static_cast<int>(open >> k & 1u);
      before[k] = own[k];
      row_key[k + 1] = key[k];
      weight[k] = sum[k] = reference[k] = T(0);
    }
    row_key[0] = levels[2 * D - 2][p.lanes_before - 1];
    row_key[p.lanes + 1] = levels[2 * D - 1][0];
    for (std::size_t d = 0; d < D - 1; ++d)
      for (int k = 0; k < n; ++k) {
        const Upwind u = upwind(key[k], levels[2 * d][k], values[2 * d][k], levels[2 * d + 1][k], values[2 * d + 1][k]);
        const bool used = u.weight > T(0);
        // Differences to one of the values: constants stay constant to the last bit.
        reference[k] = weight[k] > T(0) || !used ? reference[k] : u.value;
        sum[k] += used ? u.weight * (u.value - reference[k]) : T(0);
        weight[k] += used ? u.weight : T(0);
      }
    const T left = values[2 * D - 2][p.lanes_before - 1], right = values[2 * D - 1][0];
    // Along the row values depend on each other; the order of the keys ends this.
    for (;;) {
      for (int k = 0; k < n; ++k) row[k + 1] = own[k];
      row[0] = own_ring ? own[p.lanes - 1] : left;
      row[p.lanes + 1] = own_ring ? own[0] : right;
      int changed = 0;
      for (int k = 0; k < n; ++k) {
        const Upwind u = upwind(key[k], row_key[k], row[k], row_key[k + 2], row[k + 2]);
        const bool used = u.weight > T(0);
        const T base = weight[k] > T(0) || !used ? reference[k] : u.value;
        const T total = weight[k] + (used ? u.weight : T(0));
        const T f = base + (sum[k] + (used ? u.weight * (u.value - base) : T(0))) / total;
        const bool take = is_open[k] & (total > T(0));
        next[k] = take ? f : own[k];
        changed |= take & !(f == own[k]);
      }
      if (!changed) break;
      for (int k = 0; k < n; ++k) own[k] = next[k];
    }
    const auto differs = [&](int k) { return own[k] == own[k] && !(own[k] == before[k]); };
    for (std::size_t d = 0; d < 2 * D - 2; ++d) {
      if (p.beside[d] < 0 || p.beside[d] == p.strip || kind_.data()[p.beside[d]] != target) continue;
      int concerned = 0;
      for (int k = 0; k < n; ++k) concerned |= differs(k) & (key[k] < levels[d][k]);
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
    for_each_strip([&](const Coord<D>& start, Index row, Index s) {
      if (kind_.data()[row * grid_.row_strips + s] != target) return;
      for_each_unreached(start, row, s, [&](const Coord<D>& c, Index) {
        if (mean_beside(c) == mean_beside(c)) any.store(true, std::memory_order_relaxed);
      });
    });
    if (!any) return false;
    EstimateHeap<T> heap(workspace_, 1 << 10);
    for (Index row = 0; row < grid_.rows; ++row)
      for (Index s = 0; s < grid_.row_strips; ++s)
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

  /// What `update` gives one sample; NaN where no neighbour of smaller key has a value.
  T mean_upwind(const Coord<D>& c, Index slot) const {
    std::array<T, 2 * D> key, f;
    key.fill(std::numeric_limits<T>::infinity());
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
      const Upwind u = upwind(level_.data()[slot], key[i], f[i], key[i + 1], f[i + 1]);
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
    const FieldLayout<D>& layout = field_.layout();
    for (int d = 0; d < D; ++d)
      if (layout.halo.shared(d)) layout.halo.exchange(d, field_.storage().data());
    const Coord<D> strides = c_strides<D>(view_.extents);
    for (std::size_t d = 0; d < D; ++d) {
      if (!grid_.first[d]) continue;
      // All samples with index 0 along the axis; copies along earlier axes are right already.
      const Index plane = product<D>(view_.extents) / view_.extents[d];
      for (Index q = 0; q < plane; ++q) {
        const Index at = q / strides[d] * strides[d] * view_.extents[d] + q % strides[d];
        known_[at] = known_[at + (view_.extents[d] - 1) * strides[d]];
      }
    }
  }

  Field<T, D>& field_;
  FieldView<T, D> view_;
  std::uint8_t* known_;
  const Field<T, D>& phi_;
  StaggeredLevel<T, D> level_at_;
  T band_;
  ExtensionSide side_;
  Workspace& workspace_;
  StripGrid<D> grid_;
  StripQueue<D> queue_;
  Workspace::Lease<std::uint8_t> kind_;
  Workspace::Lease<std::uint16_t> open_;
  Workspace::Lease<T> level_;
  Workspace::Lease<T> value_;
  std::array<T, n> level_nowhere_;
  std::array<T, n> value_nowhere_;
};

}  // namespace

template <class T, int D>
ExtensionCounts extend(Field<T, D>& field, const Field<T, D>& phi, std::uint8_t* known, double band, ExtensionSide side,
                       Workspace& workspace) {
  require(band > 0.0, "band must be positive, got ", band);
  require(field.grid() == phi.grid(), "field and level set must have the same grid");
  return Extension<T, D>(field, phi, known, band, side, workspace).run();
}

#define MENISCUS_INSTANTIATE(T, D) \
  template ExtensionCounts extend<T, D>(Field<T, D>&, const Field<T, D>&, std::uint8_t*, double, ExtensionSide, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus
