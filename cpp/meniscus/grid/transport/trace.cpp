#include "meniscus/grid/transport/trace.hpp"

#include "meniscus/grid/transport/lane_kernels.hpp"
#include "meniscus/grid/transport/velocity_lanes.hpp"

namespace meniscus::grid {
namespace {

template <class T, int D>
MENISCUS_INLINE void component_at_points(const SampleSource<T, D>& source, const Stagger<D>& stagger, const RowRun<D>& run,
                                         const LaneVectors<T, D>& displacement, LaneSamples<T>& out) {
  const auto shift = index_shift<D>(source.layout->stagger, stagger);
  LaneVectors<T, D> from;
  for (int d = 0; d < D; ++d) {
    const auto s = static_cast<T>(shift[d]);
    for (int l = 0; l < run.count; ++l) from[d][l] = displacement[d][l] + s;
  }
  sample_row<false>(source, run, from, Interpolation::linear, AllVisible{}, out);
}

template <class T, int D>
MENISCUS_INLINE void trace_lanes(const VelocitySource<T, D>& velocity, const Stagger<D>& stagger, const RowRun<D>& run,
                                 T dt_over_h, const RungeKutta& method, LaneVectors<T, D>& displacement) {
  const int n = run.count;
  LaneVectors<T, D> v;
  velocity_at_samples(velocity, stagger, run, v);
  const T first = static_cast<T>(method.weight[0]) * dt_over_h;
  for (int d = 0; d < D; ++d)
    for (int l = 0; l < n; ++l) displacement[d][l] = -first * v[d][l];
  for (int s = 1; s < method.stages; ++s) {
    const Index i = s;
    const T to_point = static_cast<T>(method.at[i]) * dt_over_h;
    const T weight = static_cast<T>(method.weight[i]) * dt_over_h;
    LaneVectors<T, D> point;
    for (int d = 0; d < D; ++d)
      for (int l = 0; l < n; ++l) point[d][l] = -to_point * v[d][l];
    LaneSamples<T> sample;
    for (int d = 0; d < D; ++d) {
      component_at_points<T, D>(velocity.component[d], stagger, run, point, sample);
      for (int l = 0; l < n; ++l) {
        v[d][l] = sample.value[l];
        displacement[d][l] -= weight * sample.value[l];
      }
    }
  }
}

}  // namespace

template <class T, int D>
void trace_back(const VelocitySource<T, D>& velocity, const Stagger<D>& stagger, const RowRun<D>& run, T dt_over_h, Trace trace,
                LaneVectors<T, D>& displacement) {
  const RungeKutta method = runge_kutta(trace);
  simd_dispatch([&] { trace_lanes(velocity, stagger, run, dt_over_h, method, displacement); });
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void trace_back<T, D>(const VelocitySource<T, D>&, const Stagger<D>&, const RowRun<D>&, T, Trace, LaneVectors<T, D>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
