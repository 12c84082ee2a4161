/// Rows of the schemes `staggered` and `printed` of shallow water.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/shallow/shallow_tiles.hpp"

#include <cmath>
#include <limits>

namespace meniscus::fluids {

/// What passes a face with the depth of the side that it comes from.
template <class T>
MENISCUS_INLINE T upwind_flux(T velocity, T below, T above) {
  return velocity * (velocity > T(0) ? below : above);
}

/// Linear interpolation of samples at a place that lies by (a, b) cells, each at most one, before that of s.
template <class T>
MENISCUS_INLINE T carried_from(const T* s, Index row, T a, T b) {
  const T* x = a > T(0) ? s - row : s + row;
  const Index y = b > T(0) ? -1 : 1;
  const T p = std::abs(a), q = std::abs(b);
  const T near = s[0] + q * (s[y] - s[0]), far = x[0] + q * (x[y] - x[0]);
  return near + p * (far - near);
}

/// Momentum that passes between the faces along an axis and across it, less what the face itself would need to stay as fast.
template <class T>
MENISCUS_INLINE T momentum_change(T u, T u_low, T u_high, T u_left, T u_right, T q_low, T q_high, T q_left, T q_right) {
  T change = (q_high > T(0) ? T(0) : q_high * (u_high - u)) - (q_low > T(0) ? q_low * (u_low - u) : T(0));
  change += (q_right > T(0) ? T(0) : q_right * (u_right - u)) - (q_left > T(0) ? q_left * (u_left - u) : T(0));
  return change;
}

/// Gravity, downward acceleration of the cells below and above a face (null: the same everywhere), and least depth of water that
/// moves.
template <class T>
struct FaceGravity {
  T gravity, dry;
  const T *below, *above;
};

/// Acceleration times spacing down the slope of the surface between two cells.
template <bool curved, class T>
MENISCUS_INLINE T slope_between(const FaceGravity<T>& g, Index j, T h1, T h2, T z1, T z2) {
  if constexpr (curved) {
    const T a1 = g.below[j], a2 = g.above[j], mean = T(0.5) * (h1 + h2);
    return (a2 * h2 * h2 - a1 * h1 * h1) / (T(2) * (mean > g.dry ? mean : g.dry)) + T(0.5) * (a1 + a2) * (z2 - z1);
  } else {
    // Surfaces that differ by rounding alone are level: else water at rest on rough ground would begin to move.
    const T rise = (h2 + z2) - (h1 + z1);
    const T rounding = T(2) * std::numeric_limits<T>::epsilon() * (h1 + h2 + std::abs(z1) + std::abs(z2));
    return g.gravity * (std::abs(rise) > rounding ? rise : T(0));
  }
}

/// The velocity of a face, or zero where it would come out of a cell without water.
template <class T>
MENISCUS_INLINE T from_water(T velocity, T below, T above, T dry) {
  return (velocity > T(0) ? below : above) > dry ? velocity : T(0);
}

}  // namespace meniscus::fluids
