#include "meniscus/grid/transport/row_sampler.hpp"

#include "meniscus/grid/transport/lane_kernels.hpp"

namespace meniscus::grid {

template <class T, int D>
void sample_run(const SampleSource<T, D>& source, const RowRun<D>& run, const LaneVectors<T, D>& displacement,
                Interpolation interpolation, const MaskedVisibility<T, D>* hidden, LaneSamples<T>& out) {
  if (hidden)
    simd_dispatch([&] { sample_row<true>(source, run, displacement, interpolation, *hidden, out); });
  else
    simd_dispatch([&] { sample_row<true>(source, run, displacement, interpolation, AllVisible{}, out); });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                     \
  template void sample_run<T, D>(const SampleSource<T, D>&, const RowRun<D>&, const LaneVectors<T, D>&, Interpolation, \
                                 const MaskedVisibility<T, D>*, LaneSamples<T>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
