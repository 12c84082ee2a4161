/// Neighbouring doubles, for bounds that are rounded outward.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace meniscus::collision {

/// The least double above x; infinity stays. x is not NaN.
inline double next_up(double x) {
  if (x == std::numeric_limits<double>::infinity()) return x;
  const auto bits = std::bit_cast<std::int64_t>(x + 0.0);  // -0 becomes 0
  return std::bit_cast<double>(bits >= 0 ? bits + 1 : bits - 1);
}

/// The greatest double below x; minus infinity stays.
inline double next_down(double x) { return -next_up(-x); }

}  // namespace meniscus::collision
