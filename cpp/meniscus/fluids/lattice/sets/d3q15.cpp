#include "meniscus/fluids/lattice/sets/d3q15.hpp"

#include "meniscus/fluids/lattice/flow_engine.hpp"

namespace meniscus::fluids::lattice {

std::unique_ptr<LatticeFlow> make_d3q15(LatticeStorage storage, Streaming streaming, std::span<const Index> cells, double unit) {
  return make_engine<LatticeModel<3, 15>>(storage, streaming, cells, unit);
}

}  // namespace meniscus::fluids::lattice
