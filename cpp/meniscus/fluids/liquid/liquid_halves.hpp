/// Parts of a cell that are liquid in its halves along each axis, from the level set of a liquid and that of a solid.
#pragma once

#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

namespace meniscus::fluids {

/// Part of a cell that is liquid in its lower and its upper half along each axis; arguments as of `octant_fractions`.
template <class T, int D>
std::array<std::array<double, 2>, D> liquid_halves(const T* phi, const Coord<D>& strides, const double* solid,
                                                   const Coord<D>& node_strides) {
  const std::array<double, 1 << D> parts = surface::octant_fractions<T, D>(phi, strides, solid, node_strides);
  std::array<std::array<double, 2>, D> halves{};
  for (std::uint32_t octant = 0; octant < parts.size(); ++octant)
    for (std::size_t d = 0; d < D; ++d) halves[d][octant >> d & 1] += parts[octant] / (1 << (D - 1));
  return halves;
}

}  // namespace meniscus::fluids
