/// Upwind averages of neighbouring values, for the extension of fields away from a surface.
#pragma once

#include "meniscus/surface/redistancing/distance_strips.hpp"

#include <bit>

namespace meniscus::surface {

/// Keys that differ by less than this part of the step to the smaller one are equal: where flow divides, rounding must not choose
/// a side.
template <class T>
constexpr T equal_keys = T(1e-5);

/// Contribution of one axis to a sample: the neighbour of smaller key that has a value, or both if their keys are equal.
template <class T>
struct Upwind {
  T weight;
  T value;
};
template <class T>
MENISCUS_INLINE Upwind<T> upwind(T own, T low, T low_value, T high, T high_value) {
  // Comparisons with NaN are false: without a value a neighbour counts as no lower than the sample itself.
  const T low_key = low_value == low_value ? low : own, high_key = high_value == high_value ? high : own;
  const T a = low_key < own ? low_key : own, b = high_key < own ? high_key : own;
  const T both = T(0.5) * (low_value + high_value);
  const T weight = own - (a < b ? a : b), least = equal_keys<T> * weight;
  const T lower = b - a > least ? low_value : both;
  return {weight, a - b > least ? high_value : lower};
}

/// Updates the open lanes of a strip: f = sum w_d f_d / sum w_d over the axes, if any has a value. Keys and
/// values of the strip are `key` and `own`, those of its neighbours `levels` and `values`; NaN means no
/// value. Returns whether anything changed.
template <class T, int D>
MENISCUS_INLINE bool upwind_means(const StripPlace<D>& p, unsigned open, const T* key, const std::array<const T*, 2 * D>& levels,
                                  const std::array<const T*, 2 * D>& values, T* own) {
  constexpr int n = strip_lanes;
  using Mask = MaskOf<T>;
  const bool own_ring = p.beside[2 * D - 1] == p.strip;
  alignas(64) T weight[n], sum[n], reference[n], next[n], found[n], has[n], row_key[n + 2], row[n + 2];
  alignas(64) Mask is_open[n];
#pragma GCC unroll 1
  for (int k = 0; k < n; ++k) is_open[k] = static_cast<Mask>(open >> k & 1u);
  for (int k = 0; k < n; ++k) {
    row_key[k + 1] = key[k];
    weight[k] = sum[k] = reference[k] = T(0);
  }
  row_key[0] = levels[2 * D - 2][p.lanes_before - 1];
  row_key[p.lanes + 1] = levels[2 * D - 1][0];
  for (std::size_t d = 0; d < D - 1; ++d) {
    const T *low = levels[2 * d], *low_value = values[2 * d], *high = levels[2 * d + 1], *high_value = values[2 * d + 1];
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) {
      const Upwind<T> u = upwind<T>(key[k], low[k], low_value[k], high[k], high_value[k]);
      // Sums of differences to one of the values, so that constants stay constant to the last bit.
      const T w = weight[k], base = w > T(0) ? reference[k] : u.value;
      reference[k] = base;
      sum[k] += u.weight > T(0) ? u.weight * (u.value - base) : T(0);
      weight[k] = w + u.weight;
    }
  }
  const T left = values[2 * D - 2][p.lanes_before - 1], right = values[2 * D - 1][0];
  // Values along the row depend on each other; the loop ends because keys are ordered.
  bool any = false;
  for (;;) {
    for (int k = 0; k < n; ++k) row[k + 1] = own[k];
    row[0] = own_ring ? own[p.lanes - 1] : left;
    row[p.lanes + 1] = own_ring ? own[0] : right;
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) {
      const Upwind<T> u = upwind<T>(key[k], row_key[k], row[k], row_key[k + 2], row[k + 2]);
      const T w = weight[k], base = w > T(0) ? reference[k] : u.value;
      const T more = u.weight > T(0) ? u.weight * (u.value - base) : T(0);
      const T total = w + u.weight;
      has[k] = total;
      found[k] = base + (sum[k] + more) / (total > T(0) ? total : T(1));
    }
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) {
      const T allowed = has[k] > T(0) ? found[k] : own[k];
      next[k] = is_open[k] ? allowed : own[k];
    }
    Mask changed = 0;
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) changed |= std::bit_cast<Mask>(next[k]) ^ std::bit_cast<Mask>(own[k]);
    if (!changed) return any;
    any = true;
    for (int k = 0; k < n; ++k) own[k] = next[k];
  }
}

}  // namespace meniscus::surface
