/// Closest points on the zero set of cubic interpolants, several at a time.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/core/types.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {

/// Points that are processed together, one per vector lane.
inline constexpr int closest_lanes = 8;

/// Samples of one interpolation stencil per point: 4 per axis, around the cell between the second and the third.
template <int D>
struct CubicStencils {
  static constexpr int size = D == 2 ? 16 : 64;
  alignas(64) double value[size][closest_lanes];
};

/// Value and gradient of the interpolants at `t` (each axis in [0, 1] within the cell): along each axis the cubic through all
/// four samples, which is of fourth order. (With central differences as slopes it would be smooth across cells and of third
/// order; the surface then moves several times as far.)
template <int D>
MENISCUS_INLINE void evaluate_cubics(const CubicStencils<D>& s, const double (*t)[closest_lanes], double* value,
                                     double (*gradient)[closest_lanes]) {
  constexpr int n = closest_lanes;
  alignas(64) double w[D][4][n], dw[D][4][n];
  for (int d = 0; d < D; ++d)
    for (int l = 0; l < n; ++l) {
      const double x = t[d][l], y = 1.0 - x;
      // Contribution of the second differences at both ends.
      const double low = x * y * (1.0 + y) / 6.0, high = x * y * (1.0 + x) / 6.0;
      const double dlow = (2.0 - 6.0 * x + 3.0 * x * x) / 6.0, dhigh = (1.0 - 3.0 * x * x) / 6.0;
      w[d][0][l] = -low;
      w[d][1][l] = y + 2.0 * low - high;
      w[d][2][l] = x - low + 2.0 * high;
      w[d][3][l] = -high;
      dw[d][0][l] = -dlow;
      dw[d][1][l] = -1.0 + 2.0 * dlow - dhigh;
      dw[d][2][l] = 1.0 - dlow + 2.0 * dhigh;
      dw[d][3][l] = -dhigh;
    }
  constexpr int last = D - 1;
  alignas(64) double p[n] = {}, g[D][n] = {};
  for (int i = 0; i < (D == 3 ? 4 : 1); ++i) {
    alignas(64) double q[n] = {}, qy[n] = {}, qz[n] = {};
    for (int j = 0; j < 4; ++j) {
      const auto row = &s.value[(i * 4 + j) * 4];
      const auto wj = w[last - 1][j], dwj = dw[last - 1][j];
      for (int l = 0; l < n; ++l) {
        const double r =
            row[0][l] * w[last][0][l] + row[1][l] * w[last][1][l] + row[2][l] * w[last][2][l] + row[3][l] * w[last][3][l];
        const double rz =
            row[0][l] * dw[last][0][l] + row[1][l] * dw[last][1][l] + row[2][l] * dw[last][2][l] + row[3][l] * dw[last][3][l];
        q[l] += wj[l] * r;
        qy[l] += dwj[l] * r;
        qz[l] += wj[l] * rz;
      }
    }
    for (int l = 0; l < n; ++l) {
      const double wi = D == 3 ? w[0][i][l] : 1.0;
      p[l] += wi * q[l];
      g[last - 1][l] += wi * qy[l];
      g[last][l] += wi * qz[l];
      if constexpr (D == 3) g[0][l] += dw[0][i][l] * q[l];
    }
  }
  for (int l = 0; l < n; ++l) value[l] = p[l];
  for (int d = 0; d < D; ++d)
    for (int l = 0; l < n; ++l) gradient[d][l] = g[d][l];
}

/// The largest second difference along any axis in each stencil.
template <int D>
MENISCUS_INLINE void largest_second_difference(const CubicStencils<D>& s, double* largest) {
  constexpr int n = closest_lanes;
  for (int l = 0; l < n; ++l) largest[l] = 0.0;
  for (int d = 0; d < D; ++d) {
    const int shift = 2 * d, stride = 1 << shift;
    for (int i = 0; i < CubicStencils<D>::size; ++i) {
      const int at = i >> shift & 3;
      if (at == 0 || at == 3) continue;
      for (int l = 0; l < n; ++l) {
        const double x = std::abs(s.value[i - stride][l] - 2.0 * s.value[i][l] + s.value[i + stride][l]);
        largest[l] = x > largest[l] ? x : largest[l];
      }
    }
  }
}

}  // namespace meniscus::surface
