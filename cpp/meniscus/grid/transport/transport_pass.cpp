#include "meniscus/grid/transport/transport_pass.hpp"

#include "meniscus/grid/transport/velocity_lanes.hpp"

#include <cmath>

namespace meniscus::grid {
namespace {

using detail::larger;
using detail::smaller;

/// The value at a neighbour as a point sees it: a hidden one counts as the point's own.
template <class T, int D, class Policy>
MENISCUS_INLINE void neighbour_lanes(const SampleSource<T, D>& source, const RowRun<D>& run, int axis, int direction,
                                     const Policy& policy, Lanes<T>& out) {
  const T* own = source.view.at(run.base);
  const T* p = own + direction * source.view.strides[axis];
  for (int l = 0; l < run.count; ++l) out[l] = p[l];
  if constexpr (!Policy::all_visible) {
    const std::uint8_t* m = policy.mask.at(run.base) + direction * policy.mask.strides[axis];
    for (int l = 0; l < run.count; ++l) out[l] = m[l] ? out[l] : own[l];
  }
}

/// First-order upwind differences. The bounds are the samples that were used.
/// (The printed equation (2.3) of the thesis has the two differences swapped; this is the stable form.)
template <class T, int D, class Policy>
MENISCUS_INLINE void upwind_row(const TransportPass<T, D>& pass, const SampleSource<T, D>& source, const RowRun<D>& run,
                                const Policy& policy, LaneSamples<T>& out) {
  const int n = run.count;
  const T* p = source.view.at(run.base);
  LaneVectors<T, D> v;
  velocity_at_samples(pass.velocity, source.layout->stagger, run, v);
  Lanes<T> change{};
  for (int l = 0; l < n; ++l) out.low[l] = out.high[l] = p[l];
  for (int d = 0; d < D; ++d) {
    Lanes<T> lower;
    Lanes<T> upper;
    neighbour_lanes(source, run, d, -1, policy, lower);
    neighbour_lanes(source, run, d, 1, policy, upper);
    for (int l = 0; l < n; ++l) {
      const T courant = pass.dt_over_h * v[d][l];
      const T upwind = courant > T(0) ? lower[l] : upper[l];
      const T fraction = std::abs(courant);
      const T used = fraction > T(0) ? upwind : p[l];
      change[l] += fraction * (used - p[l]);
      out.low[l] = smaller(out.low[l], used);
      out.high[l] = larger(out.high[l], used);
    }
  }
  for (int l = 0; l < n; ++l) out.value[l] = smaller(larger(p[l] + change[l], out.low[l]), out.high[l]);
}

}  // namespace

template <class T, int D>
void pass_run(const TransportPass<T, D>& pass, const SampleSource<T, D>& source, const RowRun<D>& run, LaneSamples<T>& out) {
  if (pass.options.block == TransportBlock::semi_lagrangian) {
    LaneVectors<T, D> displacement;
    trace_back(pass.velocity, source.layout->stagger, run, pass.dt_over_h, pass.options.trace, displacement);
    sample_run(source, run, displacement, pass.options.interpolation, pass.hidden, out);
    if (pass.guard)
      pass.guard->apply(pass.velocity, source, run, displacement, pass.dt_over_h, pass.options.trace, pass.guarded_needed, out);
  } else if (pass.hidden) {
    simd_dispatch([&] { upwind_row(pass, source, run, *pass.hidden, out); });
  } else {
    simd_dispatch([&] { upwind_row(pass, source, run, AllVisible{}, out); });
  }
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void pass_run<T, D>(const TransportPass<T, D>&, const SampleSource<T, D>&, const RowRun<D>&, LaneSamples<T>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
