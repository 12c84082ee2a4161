/// Zero crossings of a level set between two samples.
#pragma once

#include "meniscus/core/simd.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace meniscus::surface {

/// Least distance of a crossing from both ends of its edge, as a part of the edge, so that no triangle of crossings degenerates.
inline constexpr double crossing_margin = 1e-6;

/// Zero of a linear function with values a and b at 0 and 1, of which exactly one is above zero, clamped inside of (0, 1).
MENISCUS_INLINE double crossing(double a, double b) {
  const double t = a / (a - b);
  return t < crossing_margin ? crossing_margin : t > 1.0 - crossing_margin ? 1.0 - crossing_margin : t;
}

/// The zero in (0, 1) of the cubic through v at -1, 0, 1, 2, whose values at 0 and 1 differ in sign: Newton's method, with a
/// bisection wherever a step would leave the change of sign.
inline double cubic_crossing(const std::array<double, 4>& v) {
  const double c3 = (v[3] - v[0]) / 6.0 + (v[1] - v[2]) / 2.0;
  const double c2 = (v[0] + v[2]) / 2.0 - v[1];
  const double c1 = v[2] - v[1] - c2 - c3;
  const bool inside_first = v[1] <= 0.0;
  double low = 0.0;
  double high = 1.0;
  double t = crossing(v[1], v[2]);
  for (int step = 0; step < 60; ++step) {
    const double value = ((c3 * t + c2) * t + c1) * t + v[1];
    if ((value <= 0.0) == inside_first)
      low = t;
    else
      high = t;
    const double slope = (3.0 * c3 * t + 2.0 * c2) * t + c1;
    double next = t - value / slope;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const double change = std::abs(next - t);
    t = next;
    if (!(change > 1e-15)) break;
  }
  return std::clamp(t, crossing_margin, 1.0 - crossing_margin);
}

}  // namespace meniscus::surface
