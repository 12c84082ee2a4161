/// Averages of nodal values at the centres of cells and faces.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::grid {

/// Mean of the corners of the cell whose lowest corner is at p, or, with an axis left out, of the face across it: pairs along the
/// first axis come first, which is exact where the field is linear along an axis.
template <int D, int axis = D - 1>
double corner_mean(const double* p, const Coord<D>& strides, int left_out = -1) {
  if constexpr (axis < 0) {
    return *p;
  } else {
    if (axis == left_out) return corner_mean<D, axis - 1>(p, strides, left_out);
    return 0.5 *
           (corner_mean<D, axis - 1>(p, strides, left_out) + corner_mean<D, axis - 1>(p + strides[axis], strides, left_out));
  }
}

/// Whether the field is positive at any of these corners.
template <int D, int axis = D - 1>
bool any_corner_positive(const double* p, const Coord<D>& strides, int left_out = -1) {
  if constexpr (axis < 0) {
    return *p > 0;
  } else {
    if (axis == left_out) return any_corner_positive<D, axis - 1>(p, strides, left_out);
    return any_corner_positive<D, axis - 1>(p, strides, left_out) ||
           any_corner_positive<D, axis - 1>(p + strides[axis], strides, left_out);
  }
}

/// Whether a cell and the one at an offset of at most 1 along each axis have a corner in common at which the field is positive.
template <int D>
bool share_positive_corner(const double* lowest, const Coord<D>& strides, const Coord<D>& offset) {
  for (int q = 0; q < 1 << D; ++q) {
    Index at = 0;
    bool common = true;
    for (int d = 0; d < D; ++d) {
      const Index a = d, upper = q >> d & 1;
      common &= offset[a] == 0 || (offset[a] > 0) == (upper > 0);
      at += upper * strides[a];
    }
    if (common && lowest[at] > 0) return true;
  }
  return false;
}

}  // namespace meniscus::grid
