/// Cubic interpolation in one dimension: monotone (Fedkiw, Stam, Jensen, "Visual simulation of smoke", 2001, appendix B; the
/// slope bound is that of Fritsch and Carlson, 1980), and linear in the data (Catmull and Rom, "A class of local interpolating
/// splines", 1974).
#pragma once

#include "meniscus/core/simd.hpp"

namespace meniscus::numerics {

/// The value at offset t in [0, 1] between b and c, whose outer neighbours are a and d (equidistant samples). The result lies
/// between b and c; it is third-order accurate where the data are monotone.
template <class T>
MENISCUS_INLINE T monotone_cubic(T a, T b, T c, T d, T t) {
  const T delta = c - b;
  const T bound = T(3) * delta;
  const auto limit = [&](T slope) {
    // Zero where the slope and the difference disagree in sign, otherwise at most three differences.
    const T up = slope < bound ? slope : bound;
    const T down = slope > bound ? slope : bound;
    const T positive = up > T(0) ? up : T(0);
    const T negative = down < T(0) ? down : T(0);
    return delta > T(0) ? positive : negative;
  };
  const T left = limit(T(0.5) * (c - a));
  const T right = limit(T(0.5) * (d - b));
  const T curve = bound - (left + left) - right;
  const T twist = left + right - (delta + delta);
  const T value = b + t * (left + t * (curve + t * twist));
  const T low = b < c ? b : c;
  const T high = b < c ? c : b;
  const T capped = value < high ? value : high;
  return capped > low ? capped : low;
}

/// The same without bounds: third order everywhere, also at extremes; the result may lie beyond b and c.
template <class T>
MENISCUS_INLINE T catmull_rom(T a, T b, T c, T d, T t) {
  const T left = T(0.5) * (c - a);
  const T right = T(0.5) * (d - b);
  const T twist = left + right - T(2) * (c - b);
  return b + t * (left + t * ((c - b) - left - twist + t * twist));
}

/// Linear interpolation that returns a for a == b exactly.
template <class T>
MENISCUS_INLINE T lerp(T a, T b, T t) {
  return a + t * (b - a);
}

}  // namespace meniscus::numerics
