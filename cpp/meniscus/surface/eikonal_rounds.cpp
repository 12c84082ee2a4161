#include "meniscus/surface/eikonal_rounds.hpp"

#include <cmath>

namespace meniscus {
namespace {

/// Which neighbours of a strip a change concerns.
template <int D>
struct Concerned {
  std::array<bool, 2 * D> beside{};
  bool any = false;
};

/// Brings a strip up to date with its neighbours.
template <class T, int D>
MENISCUS_INLINE Concerned<D> relax(const StripPlace<D>& p, const std::array<const T*, 2 * D>& beside, T* own, T band) {
  constexpr int n = strip_lanes;
  const bool own_ring = p.beside[2 * D - 1] == p.strip;
  alignas(64) T across[D - 1][n], row[n + 2], next[n];
  alignas(64) T before[n];
  for (std::size_t d = 0; d < D - 1; ++d)
    for (int k = 0; k < n; ++k) {
      const T a = std::abs(beside[2 * d][k]), b = std::abs(beside[2 * d + 1][k]);
      across[d][k] = a < b ? a : b;
    }
  for (int k = 0; k < n; ++k) before[k] = own[k];
  const T left = std::abs(beside[2 * D - 2][p.lanes_before - 1]), right = std::abs(beside[2 * D - 1][0]);
  bool changed = false;
  for (;;) {
    for (int k = 0; k < n; ++k) row[k + 1] = std::abs(own[k]);
    row[0] = own_ring ? std::abs(own[p.lanes - 1]) : left;
    row[p.lanes + 1] = own_ring ? std::abs(own[0]) : right;
    int lower = 0;
    for (int k = 0; k < n; ++k) {
      std::array<T, D> a;
      for (std::size_t d = 0; d < D - 1; ++d) a[d] = across[d][k];
      a[D - 1] = row[k] < row[k + 2] ? row[k] : row[k + 2];
      const T u = eikonal_solution<D, T>(a);
      const bool take = (u < own[k]) & (u < band);
      next[k] = take ? u : own[k];
      lower |= take;
    }
    if (!lower) break;
    changed = true;
    for (int k = 0; k < n; ++k) own[k] = next[k];
  }
  Concerned<D> result;
  if (!changed) return result;
  for (std::size_t d = 0; d < 2 * D - 2; ++d) {
    int concerned = 0;
    for (int k = 0; k < n; ++k) concerned |= (own[k] < before[k]) & (own[k] < beside[d][k]);
    result.beside[d] = concerned != 0;
  }
  const int end = p.lanes - 1;
  result.beside[2 * D - 2] = own[0] < before[0] && own[0] < beside[2 * D - 2][p.lanes_before - 1];
  result.beside[2 * D - 1] = own[end] < before[end] && own[end] < beside[2 * D - 1][0];
  return result;
}

}  // namespace

template <class T, int D, class Visibility>
Index solve_eikonal_rounds(const DistanceStrips<T, D>& strips, StripQueue<D>& queue, T band, const Visibility& visibility) {
  return queue.run([&](const StripPlace<D>& p) {
    std::array<const T*, 2 * D> beside;
    for (std::size_t d = 0; d < 2 * D; ++d) beside[d] = strips.read(p.beside[d]);
    T* own = strips.touch(p, visibility);
    const Concerned<D> c = relax<T, D>(p, beside, own, band);
    for (std::size_t d = 0; d < 2 * D; ++d)
      if (c.beside[d] && p.beside[d] >= 0 && p.beside[d] != p.strip) queue.add(p.beside[d]);
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                            \
  template Index solve_eikonal_rounds<T, D, EverySample>(const DistanceStrips<T, D>&, StripQueue<D>&, T, const EverySample&); \
  template Index solve_eikonal_rounds<T, D, MaskedSamples>(const DistanceStrips<T, D>&, StripQueue<D>&, T, const MaskedSamples&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus
