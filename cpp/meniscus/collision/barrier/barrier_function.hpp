/// Smoothly clamped logarithmic barrier of a squared distance d with the activation distance h, both m^2:
///   b(d) = -(d - h)^2 ln(d / h) for 0 < d < h, and 0 from h on, where it is twice continuously differentiable.
///
/// Source: Li et al., "Incremental Potential Contact", 2020, equation 6, of squared distances.
#pragma once

#include <array>
#include <cmath>
#include <limits>

namespace meniscus::collision {

/// Value, first and second derivative by d. Infinite where d is not above 0.
inline std::array<double, 3> barrier_function(double d, double h) {
  if (d >= h) return {0, 0, 0};
  if (!(d > 0)) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    return {infinite, -infinite, infinite};
  }
  const double log = std::log(d / h), above = d - h, relative = above / d;
  return {-above * above * log, -above * (2 * log + relative), -2 * log - 4 * relative + relative * relative};
}

}  // namespace meniscus::collision
