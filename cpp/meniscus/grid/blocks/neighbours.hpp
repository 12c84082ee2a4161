/// Offsets to the cells around a cell: the block of 3^D, and that of 3^(D - 1) across an axis. The first axis is the fastest.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::grid {

constexpr int power_of_three(int exponent) { return exponent > 0 ? 3 * power_of_three(exponent - 1) : 1; }

/// Cells of the block around a cell, itself included; it is the one in the middle.
template <int D>
inline constexpr int block_cells = power_of_three(D);

/// Cells of the block around a cell that have its coordinate along one axis.
template <int D>
inline constexpr int layer_cells = power_of_three(D - 1);

/// Offset to cell k of the block, -1, 0 or 1 along each axis.
template <int D>
constexpr Coord<D> block_offset(int k) {
  Coord<D> offset{};
  for (int d = 0; d < D; ++d, k /= 3) offset[d] = k % 3 - 1;
  return offset;
}

/// Offset to cell k of the layer, 0 along the axis.
template <int D>
constexpr Coord<D> layer_offset(int axis, int k) {
  Coord<D> offset{};
  for (int d = 0; d < D; ++d) {
    if (d == axis) continue;
    offset[d] = k % 3 - 1;
    k /= 3;
  }
  return offset;
}

}  // namespace meniscus::grid
