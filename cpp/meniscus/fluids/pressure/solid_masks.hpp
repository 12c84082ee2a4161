/// Masks of the cells and faces in a solid, from its level set on the nodes (<= 0 inside).
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Mean of the nodes around a cell or face whose lowest node is at `lowest`; `axes`: those along which it lies between nodes, a
/// bit each. Pairs are averaged axis by axis, which is exact where the level set is linear along an axis.
template <int D>
double node_mean(const double* lowest, const Coord<D>& strides, unsigned axes) {
  for (unsigned d = D; d-- > 0;)
    if (axes >> d & 1) {
      const unsigned rest = axes & ~(1U << d);
      return 0.5 * (node_mean<D>(lowest, strides, rest) + node_mean<D>(lowest + strides[d], strides, rest));
    }
  return *lowest;
}

/// Whether any of the same nodes is outside of the solid.
template <int D>
bool any_node_outside(const double* lowest, const Coord<D>& strides, unsigned axes) {
  for (unsigned d = 0; d < D; ++d)
    if (axes >> d & 1) {
      const unsigned rest = axes & ~(1U << d);
      return any_node_outside<D>(lowest, strides, rest) || any_node_outside<D>(lowest + strides[d], strides, rest);
    }
  return *lowest > 0;
}

/// One byte per owned cell or face, in C order.
template <int D>
struct SolidMasks {
  std::uint8_t* outside_cells = nullptr;        ///< cells whose centre is not in the solid, by the mean of its corners
  std::array<std::uint8_t*, D> open_faces{};    ///< faces that are not in the solid entirely
  std::array<std::uint8_t*, D> inside_faces{};  ///< faces whose centre is in the solid
};

/// Sets all masks.
template <int D>
void mark_solid(const grid::Field<double, D>& levelset, const SolidMasks<D>& masks);

}  // namespace meniscus::fluids
