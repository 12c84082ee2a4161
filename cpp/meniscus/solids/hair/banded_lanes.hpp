/// Direct solution of eight symmetric banded systems at once, one per lane: L D L^T without pivoting, for kernels inside of
/// `simd_dispatch`.
///
/// The matrix couples a row with the `band` before it: ten for rods, with four unknowns per point (position and twist) where the
/// bending of a point depends on both neighbours; eleven for springs between each particle and the next three.
#pragma once

#include "meniscus/numerics/lane_pack.hpp"

namespace meniscus::solids::hair {
using namespace numerics;

/// Rows of the lower half: entry [(band + 1) * r + k] is that of row r and column r - k.
template <int band>
Index band_entries(Index rows) {
  return (band + 1) * (rows + band);
}

/// Factorises in place: what is left is 1 / D on the diagonal and L below. As many rows as the band behind the last are scratch
/// memory, whose values must be finite. Returns in which lanes a pivot was not above zero; these are not solved.
template <int band>
MENISCUS_INLINE PackMask factorise_band(Pack* a, Index rows) {
  constexpr int band_row = band + 1;
  PackMask bad = splat(0.0) > splat(0.0);
  const Pack zero = splat(0.0), one = splat(1.0);
  for (Index c = 0; c < rows; ++c) {
    const Pack d = a[band_row * c];
    const PackMask fails = !(d > zero);
    bad |= fails;
    const Pack inverse = one / select(fails, one, d);
    a[band_row * c] = inverse;
    Pack column[band], scaled[band];
    for (int k = 0; k < band; ++k) {
      Pack& entry = a[band_row * (c + 1 + k) + k + 1];
      column[k] = entry;
      scaled[k] = entry * inverse;
      entry = scaled[k];
    }
    for (int k = 0; k < band; ++k) {
      Pack* const row = a + band_row * (c + 1 + k);
      for (int j = 0; j <= k; ++j) row[k - j] -= scaled[k] * column[j];
    }
  }
  return bad;
}

/// Solves in place with the factors; as many values as the band behind the last are scratch memory.
template <int band>
MENISCUS_INLINE void solve_band(const Pack* a, Index rows, Pack* x) {
  constexpr int band_row = band + 1;
  for (int k = 0; k < band; ++k) x[rows + k] = splat(0.0);
  for (Index c = 0; c < rows; ++c)
    for (int k = 0; k < band; ++k) x[c + 1 + k] -= a[band_row * (c + 1 + k) + k + 1] * x[c];
  for (int k = 0; k < band; ++k) x[rows + k] = splat(0.0);
  for (Index c = rows - 1; c >= 0; --c) {
    Pack sum = x[c] * a[band_row * c];
    for (int k = 0; k < band; ++k) sum -= a[band_row * (c + 1 + k) + k + 1] * x[c + 1 + k];
    x[c] = sum;
  }
}

}  // namespace meniscus::solids::hair
