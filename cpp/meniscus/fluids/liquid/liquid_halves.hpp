/// Parts of a cell that are liquid in its halves along each axis, from the level set of a liquid and that of a solid.
#pragma once

#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

namespace meniscus::fluids {

/// Part of a cell that is liquid in its lower and its upper half along each axis. `phi`: of the cell, whose neighbours can be
/// read. `solid`: the lowest corner of the cell in the level set of a solid on nodes, or nullptr. A cell is cut through its
/// centre into 2^D parts, so that sheets of less than a cell, and films on the solid, have their thickness.
template <class T, int D>
std::array<std::array<double, 2>, D> liquid_halves(const T* phi, const Coord<D>& strides, const double* solid,
                                                   const Coord<D>& node_strides) {
  std::array<std::array<double, 2>, D> rise, halves{};
  const bool wet = *phi <= 0;
  bool cut = false;
  for (std::size_t d = 0; d < D; ++d)
    for (const std::size_t upper : {0u, 1u}) {
      const T beside = phi[upper ? strides[d] : -strides[d]];
      cut |= (beside <= 0) != wet;
      rise[d][upper] = static_cast<double>(beside) - static_cast<double>(*phi);
    }
  if (!cut && !wet) return halves;
  std::array<double, 1 << D> corner{};
  bool open = true, closed = solid != nullptr;
  if (solid) {
    corner = surface::corner_values<D>(solid, node_strides);
    for (const double v : corner) {
      open &= v > 0;
      closed &= !(v > 0);
    }
  }
  if (closed) return halves;
  if (!cut && open) {
    for (auto& half : halves) half.fill(1.0);
    return halves;
  }
  for (std::uint32_t part = 0; part < 1u << D; ++part) {
    surface::BoxPlane<D> liquid{static_cast<double>(*phi), {}};
    for (std::size_t d = 0; d < D; ++d) {
      liquid.value += 0.25 * rise[d][part >> d & 1];
      liquid.slope[d] = 0.5 * rise[d][part >> d & 1];
    }
    double fraction = 1;
    if (!open) {
      const surface::BoxPlane<D> wall = surface::solid_in_octant<D>(corner, part);
      fraction = cut ? surface::part_outside<D>(liquid, wall) : 1 - wall.part();
    } else {
      fraction = liquid.part();
    }
    for (std::size_t d = 0; d < D; ++d) halves[d][part >> d & 1] += fraction / (1 << (D - 1));
  }
  return halves;
}

}  // namespace meniscus::fluids
