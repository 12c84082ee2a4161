/// Real solid harmonics in Schmidt's semi-normalisation, of many points at a time, and their derivatives as tables.
///
/// R_n^m(x) = r^n S_n^m are regular, I_n^m(x) = S_n^m / r^(n+1) irregular, with a cosine part for 0 <= m <= n and a sine part for
/// 1 <= m <= n. Then 1 / |x - y| is the sum of R(y) I(x) over all of them for |y| < |x|, and rotations are orthogonal matrices.
///
/// Source: Greengard and Rokhlin 1997; the normalisation and the recurrences are textbook relations of Legendre functions.
#pragma once

#include "meniscus/numerics/multipole/octet.hpp"

#include <vector>

namespace meniscus::numerics {

inline constexpr int largest_order = 50;  // of expansions; what derivatives of irregular harmonics add comes on top

/// Terms of an expansion; those of each degree follow each other: cosines, then sines.
constexpr int terms(int order) { return (order + 1) * (order + 1); }
constexpr int cosine(int n, int m) { return n * n + m; }
constexpr int sine(int n, int m) { return n * n + n + m; }
/// Place of (n, m) in tables with 0 <= m <= n.
constexpr int triangular(int n, int m) { return n * (n + 1) / 2 + m; }

/// Factors of the recurrences over degrees.
struct HarmonicFactors {
  std::vector<double> up, down;  ///< R_(n+1) = up z R_n - down r^2 R_(n-1), by (n, m)
  std::vector<double> diagonal;  ///< from m - 1 to m
  static const HarmonicFactors& get();
};

/// An entry of a derivative: the derivative of term `of` has `factor` times term `in`.
struct DerivativeEntry {
  int of, in;
  double factor;
};
/// Derivatives along three axes of the terms up to an order: regular ones lose a degree, irregular ones gain one.
struct DerivativeTables {
  std::array<std::vector<DerivativeEntry>, 3> regular, irregular;
};
DerivativeTables derivative_tables(int order);

/// Calls visit(term, value) for the regular harmonics of eight points times `base`. Irregular ones are the regular ones of
/// x / |x|^2 times 1 / |x|.
template <class Visit>
MENISCUS_INLINE void for_each_harmonic(int order, const HarmonicFactors& f, const OctetVec3& x, const Octet& base,
                                       Visit&& visit) {
  const Octet r2 = dot(x, x);
  Octet c = base, s = eight(0.0);
  {
    Octet before = eight(0.0), now = c;
    visit(0, now);
    for (int n = 0; n < order; ++n) {
      const Octet next = eight(f.up[triangular(n, 0)]) * (x.z * now) - eight(f.down[triangular(n, 0)]) * (r2 * before);
      before = now;
      now = next;
      visit(cosine(n + 1, 0), now);
    }
  }
  for (int m = 1; m <= order; ++m) {
    const Octet d = eight(f.diagonal[m]);
    const Octet next_c = d * (x.x * c - x.y * s);
    s = d * (x.x * s + x.y * c);
    c = next_c;
    Octet before_c = eight(0.0), before_s = eight(0.0), now_c = c, now_s = s;
    visit(cosine(m, m), now_c);
    visit(sine(m, m), now_s);
    for (int n = m; n < order; ++n) {
      const Octet up = eight(f.up[triangular(n, m)]) * x.z, down = eight(f.down[triangular(n, m)]) * r2;
      const Octet after_c = up * now_c - down * before_c, after_s = up * now_s - down * before_s;
      before_c = now_c, before_s = now_s;
      now_c = after_c, now_s = after_s;
      visit(cosine(n + 1, m), now_c);
      visit(sine(n + 1, m), now_s);
    }
  }
}

}  // namespace meniscus::numerics
