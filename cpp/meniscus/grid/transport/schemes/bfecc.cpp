// Back and forth error compensation and correction (Selle 2008, section 2.4).
#include "meniscus/grid/transport/advection_scheme.hpp"
#include "meniscus/numerics/error_compensation.hpp"

namespace meniscus::grid {
namespace {

struct Bfecc {
  template <class T, int D>
  static void advance(AdvectionStep<T, D>& step) {
    const T* const phi = step.start().origin;
    const SampleBlock<T> advanced = step.first_order();
    const SampleBlock<T> compensated = step.scratch();
    T* const value = compensated.origin;
    step.backward(advanced, [&](const RowRun<D>& run, Index q, const LaneSamples<T>& s) {
      for (int l = 0; l < run.count; ++l) value[q + l] = numerics::bfecc_start(phi[q + l], s.value[l]);
    });
    step.forward(compensated,
                 [&](const RowRun<D>& run, Index q, const LaneSamples<T>& s) { step.store_corrected(run, q, s.value); });
  }
};

}  // namespace

constinit const AdvectionScheme schemes::bfecc = make_scheme<Bfecc>("bfecc");

}  // namespace meniscus::grid
