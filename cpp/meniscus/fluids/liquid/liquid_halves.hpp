/// Parts of a cell that are liquid in its halves along each axis, from the level set of a liquid.
#pragma once

#include "meniscus/core/types.hpp"
#include "meniscus/grid/cube_fraction.hpp"

#include <array>

namespace meniscus::fluids {

/// Part of a cell that is liquid in its lower and its upper half along each axis. `phi`: of the cell, whose neighbours can be
/// read. A cell is cut through its centre into 2^D parts, so that sheets of less than a cell have their thickness.
template <class T, int D>
std::array<std::array<double, 2>, D> liquid_halves(const T* phi, const Coord<D>& strides) {
  std::array<std::array<double, 2>, D> rise, halves{};
  const bool wet = *phi <= 0;
  bool cut = false;
  for (std::size_t d = 0; d < D; ++d)
    for (const std::size_t upper : {0u, 1u}) {
      const T beside = phi[upper ? strides[d] : -strides[d]];
      cut |= (beside <= 0) != wet;
      rise[d][upper] = static_cast<double>(beside) - static_cast<double>(*phi);
    }
  if (!cut) {
    for (auto& half : halves) half.fill(wet ? 1.0 : 0.0);
    return halves;
  }
  for (std::size_t part = 0; part < 1 << D; ++part) {
    auto middle = static_cast<double>(*phi);
    std::array<double, D> gradient;
    for (std::size_t d = 0; d < D; ++d) {
      middle += 0.25 * rise[d][part >> d & 1];
      gradient[d] = 0.5 * rise[d][part >> d & 1];
    }
    const double fraction = grid::cube_fraction<D>(middle, gradient) / (1 << (D - 1));
    for (std::size_t d = 0; d < D; ++d) halves[d][part >> d & 1] += fraction;
  }
  return halves;
}

}  // namespace meniscus::fluids
