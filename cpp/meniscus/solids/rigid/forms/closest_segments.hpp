/// Closest points of two segments.
///
/// Source: Ericson, "Real-time collision detection", 2005, section 5.1.9.
#pragma once

#include "meniscus/core/types.hpp"

#include <algorithm>

namespace meniscus::solids {

/// Places from 0 to 1 along both segments. Of parallel ones, one of the closest pairs.
struct SegmentPlaces {
  double first, second;
};

inline SegmentPlaces closest_on_segments(const Vec<double, 3>& p, const Vec<double, 3>& d, const Vec<double, 3>& q,
                                         const Vec<double, 3>& e) {
  const Vec<double, 3> r = p - q;
  const double a = d.squaredNorm(), b = d.dot(e), c = e.squaredNorm(), f = d.dot(r), g = e.dot(r);
  if (!(a > 0)) return {0, c > 0 ? std::clamp(g / c, 0.0, 1.0) : 0};
  if (!(c > 0)) return {std::clamp(-f / a, 0.0, 1.0), 0};
  const double determinant = a * c - b * b;
  double s = determinant > 1e-14 * a * c ? std::clamp((b * g - c * f) / determinant, 0.0, 1.0) : 0.5;
  double t = (b * s + g) / c;
  if (t < 0) {
    t = 0;
    s = std::clamp(-f / a, 0.0, 1.0);
  } else if (t > 1) {
    t = 1;
    s = std::clamp((b - f) / a, 0.0, 1.0);
  }
  return {s, t};
}

}  // namespace meniscus::solids
