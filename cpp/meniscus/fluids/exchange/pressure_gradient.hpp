/// Gradient of the pressure of a liquid at scattered points, as the projection applies it on faces.
///
/// Between two cells with a pressure it is their difference; across the surface it is that to the pressure of the air, over the
/// distance to the surface (ghost fluid). So the gradient of water at rest is exactly its weight up to the surface. Faces on the
/// sides of the domain, in solids and between cells of air have none; where a point has other faces around it, these count alone.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

template <class T, int D>
struct LiquidPressure {
  const grid::Field<double, D>& pressure;     ///< on cells, Pa, of the last projection
  const grid::Field<T, D>& levelset;          ///< of the liquid at that projection, on cells
  const std::uint8_t* solved_air;             ///< cells of air with a pressure of their own, or nullptr
  double air_pressure;                        ///< Pa
  const grid::Field<T, D>* surface_pressure;  ///< excess of the pressure in the liquid at the surface, on cells, Pa; or nullptr
  std::array<const std::uint8_t*, D> closed;  ///< faces without a pressure gradient, per axis; or nullptr
};

/// gradients (n, D), Pa/m = the gradient at points (n, D), m: multilinear between the faces around; of the faces up to one more
/// cell away where there are none, by the inverse square of the distance; else zero. Collective; the points of a block may lie
/// anywhere.
template <class T, int D>
void sample_pressure_gradient(const LiquidPressure<T, D>& liquid, const T* points, Index n, T* gradients);

}  // namespace meniscus::fluids
