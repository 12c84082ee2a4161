/// One-sided derivatives of level sets of fifth order where they are smooth, without oscillations at kinks (included by kernels
/// only; see simd.hpp).
///
/// Source: Jiang and Peng 2000, "Weighted ENO schemes for Hamilton-Jacobi equations"; Osher and Fedkiw 2003, section 3.4.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/core/types.hpp"

#include <cmath>
#include <limits>

namespace meniscus::surface {

/// The difference at the end of the third of five neighbouring intervals, from those of the intervals; v1 is the farthest upwind.
/// Mirrored differences give the negative result, to the bit.
template <class T>
MENISCUS_INLINE T weno_difference(T v1, T v2, T v3, T v4, T v5) {
  const auto square = [](T x) { return x * x; };
  const auto larger = [](T a, T b) { return a > b ? a : b; };
  const T size =
      larger(larger(larger(square(v1), square(v2)), larger(square(v3), square(v4))), square(v5)) + std::numeric_limits<T>::min();
  // Smoothness of the three parabolas relative to the differences, so that the weights do not depend on their unit.
  const T part = T(1) / size;
  const auto rough = [&](T bend, T slope) { return T(1e-6) + (T(13.0 / 12) * square(bend) + T(0.25) * square(slope)) * part; };
  const T s1 = rough((v1 - v2) - (v2 - v3), v1 - T(4) * v2 + T(3) * v3);
  const T s2 = rough((v2 - v3) - (v3 - v4), v2 - v4);
  const T s3 = rough((v3 - v4) - (v4 - v5), T(3) * v3 - T(4) * v4 + v5);
  // Proportional to 0.1 / s1^2, 0.6 / s2^2 and 0.3 / s3^2.
  const T w1 = square(s2 * s3);
  const T w2 = T(6) * square(s1 * s3);
  const T w3 = T(3) * square(s1 * s2);
  const T q1 = T(2) * v1 - T(7) * v2 + T(11) * v3;
  const T q2 = T(5) * v3 + T(2) * v4 - v2;
  const T q3 = T(2) * v3 + T(5) * v4 - v5;
  return (w1 * q1 + w2 * q2 + w3 * q3) / (T(6) * (w1 + w2 + w3));
}

/// Differences of the samples from `p` on along the axis of the stride, from below and from above, times the spacing.
template <class T>
MENISCUS_INLINE void one_sided_differences(const T* p, Index stride, int count, T* below, T* above) {
  for (int l = 0; l < count; ++l) {
    const T* const q = p + l;
    const T a = q[-2 * stride] - q[-3 * stride];
    const T b = q[-stride] - q[-2 * stride];
    const T c = q[0] - q[-stride];
    const T d = q[stride] - q[0];
    const T e = q[2 * stride] - q[stride];
    const T f = q[3 * stride] - q[2 * stride];
    below[l] = weno_difference(a, b, c, d, e);
    above[l] = weno_difference(f, e, d, c, b);
  }
}

}  // namespace meniscus::surface
