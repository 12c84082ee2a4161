/// Buffers of vectorised kernels: a few dozen points side by side, in
/// arrays that stay in the first-level cache.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/core/types.hpp"

namespace meniscus::grid {

/// Points handled together; their temporaries stay in the first-level cache.
inline constexpr int row_block = 64;

template <class T>
using Lanes = std::array<T, row_block>;

/// One displacement, or velocity, per axis and lane.
template <class T, int D>
struct LaneVectors {
  std::array<Lanes<T>, D> axis;
  MENISCUS_INLINE Lanes<T>& operator[](int d) { return axis[d]; }
  MENISCUS_INLINE const Lanes<T>& operator[](int d) const { return axis[d]; }
};

/// A run of samples: base + l along the last axis, l = 0 .. count - 1.
template <int D>
struct RowRun {
  Coord<D> base;
  int count;
};

/// Values, and the extremes of the cell corners that they were interpolated from.
template <class T>
struct LaneSamples {
  Lanes<T> value;
  Lanes<T> low;
  Lanes<T> high;
};

}  // namespace meniscus::grid
