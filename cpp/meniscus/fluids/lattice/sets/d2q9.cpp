#include "meniscus/fluids/lattice/sets/d2q9.hpp"

#include "meniscus/fluids/lattice/flow_engine.hpp"

namespace meniscus::fluids::lattice {

std::unique_ptr<LatticeFlow> make_d2q9(LatticeStorage storage, Streaming streaming, std::span<const Index> cells, double unit) {
  return make_engine<LatticeModel<2, 9>>(storage, streaming, cells, unit);
}

}  // namespace meniscus::fluids::lattice
