/// Classification of cells as liquid or air.
#pragma once

#include "meniscus/core/types.hpp"

#include <type_traits>

namespace meniscus::fluids {

/// Least distance, in cells, between the free surface and a pressure sample in the liquid.
///
/// It keeps the coefficient of the pressure finite. The solver works equally well for all values (measured from 1e-3 to 1e-12),
/// so hydrostatic pressures are exact wherever the surface lies. It is also above round-off: of samples that all lie in the
/// surface, rounding would make some liquid and some air, and accelerate the liquid ones sideways.
template <class T>
inline constexpr double smallest_depth = std::is_same_v<T, float> ? 1e-6 : 1e-12;

/// Whether a cell with this value of the level set (m) is liquid, on a grid of the given spacing (m).
template <class T>
bool is_liquid_value(T phi, double spacing) {
  return static_cast<double>(phi) <= -smallest_depth<T> * spacing;
}

/// Distance, in cells, of the free surface from the liquid one of two neighbouring samples; the other is in air.
template <class T>
double distance_to_surface(double liquid, double air) {
  const double fraction = liquid / (liquid - air);
  return fraction < smallest_depth<T> ? smallest_depth<T> : fraction < 1 ? fraction : 1.0;
}

}  // namespace meniscus::fluids
