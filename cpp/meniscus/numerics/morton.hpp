/// Morton codes: numbers of cells along a space-filling curve, so that points with close numbers lie close to each other.
#pragma once

#include "meniscus/core/types.hpp"

#include <algorithm>

namespace meniscus::numerics {

inline constexpr int morton_bits_per_axis = 21;

namespace detail {
/// Puts two zero bits between the lower 21 bits.
constexpr std::uint64_t spread(std::uint64_t x) {
  x &= 0x1fffff;
  x = (x | x << 32) & 0x001f00000000ffff;
  x = (x | x << 16) & 0x001f0000ff0000ff;
  x = (x | x << 8) & 0x100f00f00f00f00f;
  x = (x | x << 4) & 0x10c30c30c30c30c3;
  x = (x | x << 2) & 0x1249249249249249;
  return x;
}
}  // namespace detail

/// The number of a cell, of whose coordinates the lower 21 bits count; the first axis has the highest bit of three.
constexpr std::uint64_t morton_code(const Coord<3>& cell) {
  std::uint64_t code = 0;
  for (int d = 0; d < 3; ++d) code |= detail::spread(static_cast<std::uint64_t>(cell[d])) << (2 - d);
  return code;
}

/// The number of the cell of a point in a cube of 2^21 cells along each axis whose lowest corner is `low`.
inline std::uint64_t morton_code(const Vec<double, 3>& p, const Vec<double, 3>& low, double cells_per_metre) {
  Coord<3> cell{};
  for (int d = 0; d < 3; ++d)
    cell[d] = static_cast<Index>(
        std::clamp((p[d] - low[d]) * cells_per_metre, 0.0, static_cast<double>((1 << morton_bits_per_axis) - 1)));
  return morton_code(cell);
}

}  // namespace meniscus::numerics
