/// Part of a cube that a plane cuts off.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

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
        rest -= gradient[d];
        sign = -sign;
      }
    if (rest > 0) volume += sign * (D == 2 ? rest * rest : rest * rest * rest);
  }
  volume = std::clamp(volume / ((D == 2 ? 2 : 6) * product), 0.0, 1.0);
  return other ? 1.0 - volume : volume;
}

/// Part of one of the 2^D parts of a cell around its centre in which samples at centres are below zero: below the plane that
/// their multilinear interpolant has in the middle of the part. `value`: of the cell (number 0), and of the cells beside it on
/// the side of the part, bit d of a number being axis d.
template <int D>
double octant_fraction(const std::array<double, 1 << D>& value) {
  bool all = true, any = false;
  for (const double v : value) {
    all &= v <= 0;
    any |= v <= 0;
  }
  if (all || !any) return all ? 1.0 : 0.0;
  double middle = 0;
  std::array<double, D> gradient{};
  for (std::uint32_t s = 0; s < value.size(); ++s) {
    double weight = value[s];
    for (std::uint32_t d = 0; d < D; ++d) weight *= (s >> d) & 1u ? 0.25 : 0.75;
    middle += weight;
    for (std::uint32_t d = 0; d < D; ++d) gradient[d] += (s >> d) & 1u ? 2 * weight : -weight / 1.5;
  }
  if (!std::isfinite(middle)) return value[0] <= 0 ? 1.0 : 0.0;
  return cube_fraction<D>(middle, gradient);
}

}  // namespace meniscus::grid
