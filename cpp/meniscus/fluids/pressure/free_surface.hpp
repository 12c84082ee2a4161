/// Classification of cells as liquid or air.
#pragma once

#include "meniscus/core/types.hpp"

#include <type_traits>

namespace meniscus::fluids {

/// Part of a cell that the free surface stays away from a wet pressure sample.
///
/// It keeps the coefficient of the pressure finite, to which the solver is indifferent (measured from 1e-3 to 1e-12), so that
/// hydrostatic pressures are exact wherever the surface lies. And it is above round-off: of samples that all lie in the surface,
/// rounding would make some wet and some dry, and pull the wet ones sideways at full strength.
template <class T>
inline constexpr double smallest_depth = std::is_same_v<T, float> ? 1e-6 : 1e-12;

/// Whether a cell with this value of the level set (m) is liquid, on a grid of the given spacing (m).
template <class T>
bool is_liquid_value(T phi, double spacing) {
  return static_cast<double>(phi) <= -smallest_depth<T> * spacing;
}

/// How far, in cells, the free surface is from the wet one of two neighbouring samples of which the other is dry.
template <class T>
double distance_to_surface(double wet, double dry) {
  const double fraction = wet / (wet - dry);
  return fraction < smallest_depth<T> ? smallest_depth<T> : fraction < 1 ? fraction : 1.0;
}

}  // namespace meniscus::fluids
