/// Interpolation at one point, with all masks and boundary rules: the slow path beside the vectorised rows.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/grid/continuation.hpp"
#include "meniscus/grid/transport/visibility.hpp"
#include "meniscus/numerics/interpolation_1d.hpp"

#include <cmath>

namespace meniscus::grid {

/// `cubic`: monotone, bounded by the samples; `catmull_rom`: without bounds.
enum class Interpolation { linear, cubic, catmull_rom };

/// Samples that an interpolation needs on each side of a cell.
constexpr int stencil_margin(Interpolation interpolation) { return interpolation == Interpolation::linear ? 0 : 1; }

/// Samples to interpolate in, with ghosts filled as of `time`.
template <class T, int D>
struct SampleSource {
  const FieldLayout<D>* layout;
  FieldView<const T, D> view;
  double time;
  const FarValues<D>* far = nullptr;
};

template <class T>
struct PointSample {
  T value, low, high;
};

namespace detail {

template <class T>
MENISCUS_INLINE T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
MENISCUS_INLINE T larger(T a, T b) {
  return a > b ? a : b;
}

template <class T, int D>
T stored_or_continued(const SampleSource<T, D>& s, const Coord<D>& c) {
  bool stored = true;
  for (int d = 0; d < D; ++d) stored = stored && c[d] >= -ghost_width && c[d] < s.view.extents[d] + ghost_width;
  return stored ? *s.view.at(c) : continued_value<T, D>(*s.layout, s.view, c, s.time, s.far);
}

/// Weight of corner q (bit d: upper along axis d) at the given position in the cell.
template <class T, int D>
T corner_weight(const std::array<T, D>& fraction, int q) {
  T w = 1;
  for (int d = 0; d < D; ++d) w *= ((q >> d) & 1) ? fraction[d] : T(1) - fraction[d];
  return w;
}

/// Tensor product of cubics over the 4^D samples whose [1]...[1] is `cell`.
template <class T, int D>
T cubic_point(const SampleSource<T, D>& s, const Coord<D>& cell, const std::array<T, D>& fraction, bool monotone) {
  const auto along = [&](auto&& self, int axis, Coord<D> c) -> T {
    if (axis == D) return stored_or_continued<T, D>(s, c);
    std::array<T, 4> v;
    for (int a = 0; a < 4; ++a) {
      c[axis] = cell[axis] - 1 + a;
      v[a] = self(self, axis + 1, c);
    }
    return monotone ? numerics::monotone_cubic(v[0], v[1], v[2], v[3], fraction[axis])
                    : numerics::catmull_rom(v[0], v[1], v[2], v[3], fraction[axis]);
  };
  return along(along, 0, cell);
}

}  // namespace detail

/// The value at a place in the cell whose lower corner is sample `cell`, and the extremes of the corners it comes from; `at` is
/// the sample that looks there. A fraction of one is that of a place just below the upper corner, rounded: it stays in this cell.
template <class T, int D, class Policy>
MENISCUS_NOINLINE PointSample<T> sample_in_cell(const SampleSource<T, D>& source, const Coord<D>& at, const Coord<D>& cell,
                                                const std::array<T, D>& fraction, Interpolation interpolation,
                                                const Policy& policy) {
  constexpr int corners = 1 << D;
  std::array<T, corners> v;
  std::array<bool, corners> seen;
  bool all_seen = true;
  for (int q = 0; q < corners; ++q) {
    Coord<D> c = cell;
    for (int d = 0; d < D; ++d) c[d] += (q >> d) & 1;
    v[q] = detail::stored_or_continued<T, D>(source, c);
    seen[q] = true;
    if constexpr (!Policy::all_visible) seen[q] = policy.visible(at, c);
    all_seen = all_seen && seen[q];
  }
  if constexpr (!Policy::all_visible) {
    if (!all_seen) {
      T sum = 0;
      T weight = 0;
      T plain_sum = 0;
      int count = 0;
      for (int q = 0; q < corners; ++q) {
        if (!seen[q]) continue;
        const T w = detail::corner_weight<T, D>(fraction, q);
        sum += w * v[q];
        weight += w;
        plain_sum += v[q];
        ++count;
      }
      // Visible corners of weight zero are still better than none.
      const T mean = weight > T(0) ? sum / weight : plain_sum / static_cast<T>(count > 0 ? count : 1);
      const T own = *source.view.at(at);
      const T stand_in = policy.replacement(count > 0 ? &mean : nullptr, own);
      for (int q = 0; q < corners; ++q)
        if (!seen[q]) v[q] = stand_in;
    }
  }
  PointSample<T> s{T(0), v[0], v[0]};
  for (int q = 1; q < corners; ++q) {
    s.low = detail::smaller(s.low, v[q]);
    s.high = detail::larger(s.high, v[q]);
  }
  bool wide = interpolation != Interpolation::linear && all_seen;
  if constexpr (!Policy::all_visible) {
    Coord<D> c;
    const auto visible_from = [&](auto&& self, int axis) -> bool {
      if (axis == D) return policy.visible(at, c);
      for (int a = -1; a < 3; ++a) {
        c[axis] = cell[axis] + a;
        if (!self(self, axis + 1)) return false;
      }
      return true;
    };
    wide = wide && visible_from(visible_from, 0);
  }
  if (wide) {
    s.value = detail::cubic_point<T, D>(source, cell, fraction, interpolation == Interpolation::cubic);
  } else {
    // The same order of operations as the fast rows: last axis first.
    std::array<T, corners> r = v;
    for (int d = D - 1, half = corners / 2; d >= 0; --d, half /= 2)
      for (int q = 0; q < half; ++q) r[q] = numerics::lerp(r[q], r[q + half], fraction[d]);
    s.value = detail::smaller(detail::larger(r[0], s.low), s.high);
  }
  return s;
}

/// The value at sample `at` + displacement (cells) and the extremes of the corners it comes from.
template <class T, int D, class Policy>
PointSample<T> sample_point(const SampleSource<T, D>& source, const Coord<D>& at, const std::array<T, D>& displacement,
                            Interpolation interpolation, const Policy& policy) {
  Coord<D> cell;
  std::array<T, D> fraction;
  for (int d = 0; d < D; ++d) {
    // The bound keeps the conversion to an integer defined; the continuation maps any index to an owned sample.
    const T whole = detail::smaller(detail::larger(std::floor(displacement[d]), T(-1e15)), T(1e15));
    cell[d] = at[d] + static_cast<Index>(whole);
    fraction[d] = detail::smaller(detail::larger(displacement[d] - whole, T(0)), T(1));
  }
  return sample_in_cell<T, D>(source, at, cell, fraction, interpolation, policy);
}

}  // namespace meniscus::grid
