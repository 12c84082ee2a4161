#include "meniscus/fluids/lattice/lattice_flow.hpp"

#include "meniscus/fluids/lattice/sets/d2q9.hpp"
#include "meniscus/fluids/lattice/sets/d3q15.hpp"
#include "meniscus/fluids/lattice/sets/d3q19.hpp"
#include "meniscus/fluids/lattice/sets/d3q27.hpp"

namespace meniscus::fluids::lattice {

std::unique_ptr<LatticeFlow> make_lattice_flow(LatticeSet set, LatticeStorage storage, Streaming streaming,
                                               std::span<const Index> cells, double unit) {
  switch (set) {
    case LatticeSet::D2Q9:
      return make_d2q9(storage, streaming, cells, unit);
    case LatticeSet::D3Q15:
      return make_d3q15(storage, streaming, cells, unit);
    case LatticeSet::D3Q19:
      return make_d3q19(storage, streaming, cells, unit);
    case LatticeSet::D3Q27:
      break;
  }
  return make_d3q27(storage, streaming, cells, unit);
}

}  // namespace meniscus::fluids::lattice
