// MacCormack's scheme on first-order passes (Selle 2008, section 2.4).
#include "meniscus/grid/transport/advection_scheme.hpp"
#include "meniscus/numerics/error_compensation.hpp"

namespace meniscus::grid {
namespace {

struct MacCormack {
  template <class T, int D>
  static void advance(AdvectionStep<T, D>& step) {
    const T* const phi = step.start().origin;
    const SampleBlock<T> advanced = step.first_order();
    const T* const forward = advanced.origin;
    step.backward_in_place(advanced, [&](const RowRun<D>& run, Index q, const LaneSamples<T>& s) {
      Lanes<T> value;
      for (int l = 0; l < run.count; ++l) value[l] = numerics::maccormack_correct(forward[q + l], phi[q + l], s.value[l]);
      step.store_corrected(run, q, value);
    });
  }
};

}  // namespace

constinit const AdvectionScheme schemes::maccormack = make_scheme<MacCormack>("maccormack");

}  // namespace meniscus::grid
