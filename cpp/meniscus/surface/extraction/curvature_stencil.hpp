/// Curvatures of the level set through a sample by central differences over its nearest neighbours, of second order (included by
/// kernels only; see simd.hpp).
///
/// Source: Osher and Fedkiw 2003, "Level Set Methods and Dynamic Implicit Surfaces", section 1.4.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/core/types.hpp"

#include <cmath>

namespace meniscus::surface {

/// First and second differences at one sample, in units of the spacing.
template <class T, int D>
struct Differences {
  double value;
  double g[D];
  double h[D][D];

  MENISCUS_INLINE Differences(const T* p, const Index (&s)[D]) : value(static_cast<double>(*p)) {
    const auto at = [&](Index offset) { return static_cast<double>(p[offset]); };
    for (int a = 0; a < D; ++a) {
      g[a] = 0.5 * (at(s[a]) - at(-s[a]));
      h[a][a] = (at(s[a]) - value) - (value - at(-s[a]));
      for (int b = 0; b < a; ++b)
        h[a][b] = h[b][a] = 0.25 * ((at(s[a] + s[b]) - at(s[a] - s[b])) - (at(s[b] - s[a]) - at(-s[a] - s[b])));
    }
  }
};

/// Mean and Gauss curvature times the spacing and its square; the distance in spacings.
struct Curvatures {
  double mean, gauss, distance;
};

template <class T>
MENISCUS_INLINE Curvatures curvatures(const Differences<T, 2>& d) {
  const double gg = d.g[0] * d.g[0] + d.g[1] * d.g[1];
  const double length = std::sqrt(gg);
  const double k = (d.h[0][0] * d.g[1] * d.g[1] + d.h[1][1] * d.g[0] * d.g[0]) - 2.0 * d.h[0][1] * d.g[0] * d.g[1];
  const bool some = gg > 0.0;
  const double safe = some ? length : 1.0;
  return {some ? k / (safe * safe * safe) : 0.0, 0.0, d.value / safe};
}

template <class T>
MENISCUS_INLINE Curvatures curvatures(const Differences<T, 3>& d) {
  const auto& g = d.g;
  const auto& h = d.h;
  const double xx = g[0] * g[0];
  const double yy = g[1] * g[1];
  const double zz = g[2] * g[2];
  const double gg = xx + yy + zz;
  const double length = std::sqrt(gg);
  const bool some = gg > 0.0;
  const double safe = some ? length : 1.0;
  const double k = ((h[1][1] + h[2][2]) * xx + (h[0][0] + h[2][2]) * yy + (h[0][0] + h[1][1]) * zz) -
                   2.0 * (g[0] * g[1] * h[0][1] + g[0] * g[2] * h[0][2] + g[1] * g[2] * h[1][2]);
  const double a = (h[1][1] * h[2][2] - h[1][2] * h[1][2]) * xx + (h[0][0] * h[2][2] - h[0][2] * h[0][2]) * yy +
                   (h[0][0] * h[1][1] - h[0][1] * h[0][1]) * zz;
  const double b = (h[0][2] * h[1][2] - h[0][1] * h[2][2]) * (g[0] * g[1]) +
                   (h[0][1] * h[1][2] - h[0][2] * h[1][1]) * (g[0] * g[2]) +
                   (h[0][1] * h[0][2] - h[1][2] * h[0][0]) * (g[1] * g[2]);
  return {some ? k / (safe * safe * safe) : 0.0, some ? (a + 2.0 * b) / (safe * safe * safe * safe) : 0.0, d.value / safe};
}

}  // namespace meniscus::surface
