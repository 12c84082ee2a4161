// The two first-order schemes: a single pass (Selle 2008, sections 2.2 and 2.3).
#include "meniscus/grid/transport/advection_scheme.hpp"

namespace meniscus::grid {
namespace {

struct FirstOrder {
  template <class T, int D>
  static void advance(AdvectionStep<T, D>& step) {
    step.forward(step.start(), [&](const RowRun<D>& run, Index q, const LaneSamples<T>& s) { step.store(run, q, s.value); });
  }
};

}  // namespace

constinit const AdvectionScheme schemes::upwind = make_scheme<FirstOrder>("upwind", TransportBlock::upwind);
constinit const AdvectionScheme schemes::semi_lagrangian =
    make_scheme<FirstOrder>("semi-lagrangian", TransportBlock::semi_lagrangian);

}  // namespace meniscus::grid
