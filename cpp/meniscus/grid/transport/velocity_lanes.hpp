/// Interpolation of a staggered velocity at lanes of samples (included by kernels only; see simd.hpp).
#pragma once

#include "meniscus/grid/transport/trace.hpp"

namespace meniscus::grid {

/// Index offset, in cells, from a sample staggered like `to` to the same point in the samples of `from`.
template <int D>
std::array<double, D> index_shift(const Stagger<D>& from, const Stagger<D>& to) {
  std::array<double, D> s;
  for (std::size_t d = 0; d < D; ++d) s[d] = 0.5 * (from.on_side[d] - to.on_side[d]);
  return s;
}

namespace detail {

/// Velocity component at the samples themselves: the sample where both coincide, else the mean of the 2 or 4 nearest.
template <class T, int D>
MENISCUS_INLINE void component_at_samples(const SampleSource<T, D>& source, const Stagger<D>& stagger, const RowRun<D>& run,
                                          Lanes<T>& out) {
  const auto shift = index_shift<D>(source.layout->stagger, stagger);
  const T* p = source.view.at(run.base);
  Index a = 0;
  Index b = 0;
  for (int d = 0; d < D; ++d) {
    if (shift[d] == 0.0) continue;
    if (shift[d] < 0.0) p -= source.view.strides[d];
    (a == 0 ? a : b) = source.view.strides[d];
  }
  const int n = run.count;
  if (a == 0) {
    for (int l = 0; l < n; ++l) out[l] = p[l];
  } else if (b == 0) {
    for (int l = 0; l < n; ++l) out[l] = T(0.5) * (p[l] + p[l + a]);
  } else {
    for (int l = 0; l < n; ++l) out[l] = T(0.25) * ((p[l] + p[l + a]) + (p[l + b] + p[l + a + b]));
  }
}

}  // namespace detail

/// Velocity at the samples of a run.
template <class T, int D>
MENISCUS_INLINE void velocity_at_samples(const VelocitySource<T, D>& velocity, const Stagger<D>& stagger, const RowRun<D>& run,
                                         LaneVectors<T, D>& out) {
  for (int d = 0; d < D; ++d) detail::component_at_samples<T, D>(velocity.component[d], stagger, run, out[d]);
}

}  // namespace meniscus::grid
