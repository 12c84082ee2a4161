/// Part of a cube that a plane cuts off.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace meniscus::grid {

/// Part of the unit cube, centred at the origin, in which value + gradient . x <= 0.
template <int D>
double cube_fraction(double value, std::array<double, D> gradient) {
  double largest = 0, sum = 0, product = 1;
  for (double& g : gradient) largest = std::max(largest, g = std::abs(g));
  if (!(largest > 0)) return value <= 0 ? 1.0 : 0.0;
  // A plane along an axis is tilted by a thousandth: the formula divides by the components, and the error vanishes to first
  // order.
  for (double& g : gradient) {
    g = std::max(g, 1e-3 * largest);
    sum += g;
    product *= g;
  }
  const double depth = 0.5 * sum - value;
  if (depth <= 0) return 0.0;
  if (depth >= sum) return 1.0;
  // The corner below the plane, less what of it lies beyond the faces; of the smaller side, for the sake of rounding.
  const bool other = depth > 0.5 * sum;
  const double height = other ? sum - depth : depth;
  double volume = 0;
  for (int corner = 0; corner < (1 << D); ++corner) {
    double rest = height;
    int sign = 1;
    for (int d = 0; d < D; ++d)
      if (corner >> d & 1) {
        rest -= gradient[static_cast<std::size_t>(d)];
        sign = -sign;
      }
    if (rest > 0) volume += sign * (D == 2 ? rest * rest : rest * rest * rest);
  }
  volume = std::clamp(volume / ((D == 2 ? 2 : 6) * product), 0.0, 1.0);
  return other ? 1.0 - volume : volume;
}

}  // namespace meniscus::grid
