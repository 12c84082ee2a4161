/// Where a level set is zero between two samples.
#pragma once

#include "meniscus/core/simd.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace meniscus {

/// How far a crossing keeps away from both ends of its edge, as a part of the edge: no triangle of crossings then degenerates.
inline constexpr double crossing_margin = 1e-6;

/// Where a linear function with values a and b at 0 and 1, of which exactly one is above zero, is zero, kept inside of (0, 1).
MENISCUS_INLINE double crossing(double a, double b) {
  const double t = a / (a - b);
  return t < crossing_margin ? crossing_margin : t > 1.0 - crossing_margin ? 1.0 - crossing_margin : t;
}

/// The zero in (0, 1) of the cubic through v at -1, 0, 1, 2, whose values at 0 and 1 differ in sign: Illinois steps, so that the
/// change of sign is never lost.
inline double cubic_crossing(const std::array<double, 4>& v) {
  const double c3 = (v[3] - v[0]) / 6.0 + (v[1] - v[2]) / 2.0;
  const double c2 = (v[0] + v[2]) / 2.0 - v[1];
  const double c1 = v[2] - v[1] - c2 - c3;
  double a = 0.0;
  double b = 1.0;
  double at_a = v[1];
  double at_b = v[2];
  double t = crossing(at_a, at_b);
  for (int step = 0; step < 20; ++step) {
    const double value = ((c3 * t + c2) * t + c1) * t + v[1];
    if (value == 0.0) break;
    if ((value <= 0.0) == (at_a <= 0.0)) {
      a = t;
      at_a = value;
      at_b *= 0.5;
    } else {
      b = t;
      at_b = value;
      at_a *= 0.5;
    }
    const double s = a + (b - a) * (at_a / (at_a - at_b));
    if (!(std::abs(s - t) > 1e-14)) break;
    t = s;
  }
  return std::clamp(t, crossing_margin, 1.0 - crossing_margin);
}

}  // namespace meniscus
