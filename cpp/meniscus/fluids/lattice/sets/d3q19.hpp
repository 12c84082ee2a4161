/// Flows with 19 velocities in three dimensions.
#pragma once

#include "meniscus/fluids/lattice/lattice_flow.hpp"

namespace meniscus::fluids::lattice {

std::unique_ptr<LatticeFlow> make_d3q19(LatticeStorage storage, Streaming streaming, std::span<const Index> cells, double unit);

}  // namespace meniscus::fluids::lattice
