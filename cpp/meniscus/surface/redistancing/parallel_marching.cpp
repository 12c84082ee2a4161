#include "meniscus/surface/redistancing/parallel_marching.hpp"

#include <bit>
#include <cmath>

namespace meniscus::surface {
namespace {

/// Neighbours of a strip that a change affects.
template <int D>
struct Concerned {
  std::array<bool, 2 * D> beside{};
  bool any = false;
};

/// Brings a strip up to date with its neighbours.
template <class T, int D>
MENISCUS_INLINE Concerned<D> relax(const StripPlace<D>& p, const std::array<const T*, 2 * D>& beside, T* own, T band) {
  constexpr int n = strip_lanes;
  using Mask = MaskOf<T>;
  const bool own_ring = p.beside[2 * D - 1] == p.strip;
  alignas(64) T across[2][n], row[n + 2], along[n], next[n], before[n];
  for (std::size_t d = 0; d < D - 1; ++d) {
    const T *low = beside[2 * d], *high = beside[2 * d + 1];
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) {
      const T a = std::abs(low[k]), b = std::abs(high[k]);
      across[d][k] = a < b ? a : b;
    }
  }
#pragma GCC unroll 1
  for (int k = 0; k < n; ++k) before[k] = own[k];
  const T left = std::abs(beside[2 * D - 2][p.lanes_before - 1]), right = std::abs(beside[2 * D - 1][0]);
  bool changed = false;
  for (;;) {
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) row[k + 1] = std::abs(own[k]);
    row[0] = own_ring ? std::abs(own[p.lanes - 1]) : left;
    row[p.lanes + 1] = own_ring ? std::abs(own[0]) : right;
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) along[k] = row[k] < row[k + 2] ? row[k] : row[k + 2];
    if constexpr (D == 3)
      eikonal_solutions<n, T>(across[0], across[1], along, band, own, next);
    else
      eikonal_solutions<n, T>(across[0], along, band, own, next);
    Mask lower = 0;
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) lower |= std::bit_cast<Mask>(next[k]) ^ std::bit_cast<Mask>(own[k]);
    if (!lower) break;
    changed = true;
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) own[k] = next[k];
  }
  Concerned<D> result;
  if (!changed) return result;
  for (std::size_t d = 0; d < 2 * D - 2; ++d) {
    Mask concerned = 0;
    const T* other = beside[d];
#pragma GCC unroll 1
    for (int k = 0; k < n; ++k) {
      const T bound = before[k] < other[k] ? before[k] : other[k];
      concerned |= static_cast<Mask>(own[k] < bound);
    }
    result.beside[d] = concerned != 0;
  }
  const int end = p.lanes - 1;
  result.beside[2 * D - 2] = own[0] < before[0] && own[0] < beside[2 * D - 2][p.lanes_before - 1];
  result.beside[2 * D - 1] = own[end] < before[end] && own[end] < beside[2 * D - 1][0];
  return result;
}

}  // namespace

template <class T, int D, class Visibility>
Index march_in_parallel(const DistanceStrips<T, D>& strips, StripQueue<D>& queue, StripExchange<D>& exchange, T band,
                        const Visibility& visibility) {
  return queue.run(
      exchange,
      [&](const StripPlace<D>& p) {
        std::array<const T*, 2 * D> beside;
        for (std::size_t d = 0; d < 2 * D; ++d) beside[d] = strips.read(p.beside[d]);
        T* own = strips.touch(p, visibility);
        const Concerned<D> c = relax<T, D>(p, beside, own, band);
        queue.add_beside(p, [&](std::size_t which) { return c.beside[which]; });
      },
      strips.whole_strips(), strips.touched.data());
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                         \
  template Index march_in_parallel<T, D, EverySample>(const DistanceStrips<T, D>&, StripQueue<D>&, StripExchange<D>&, T,   \
                                                      const EverySample&);                                                 \
  template Index march_in_parallel<T, D, MaskedSamples>(const DistanceStrips<T, D>&, StripQueue<D>&, StripExchange<D>&, T, \
                                                        const MaskedSamples&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
