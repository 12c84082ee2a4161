/// Polynomials whose signs decide whether two moving elements touch, in floating point, with bounds of their errors.
///
/// Over a piece of the step, with s from 0 at its start to infinity at its end, every difference of points is p + s q over 1 + s.
/// The coplanarity of the four points is then a cubic and the weights of a contact are quadratics in s (ccd_exact.hpp says why),
/// and the least and the largest coefficient bound them over the piece.
///
/// Bounds of errors: let u = 2^-53 and let X, Y and Z bound the magnitudes of the differences of coordinates over the whole step.
/// A difference is in error by u times its magnitude, and after interpolation to the ends of a piece by less than 4 u X. In what
/// follows every term passes at most the number of roundings that is given; the second-order terms, below one part in 10^13,
/// vanish in the rounding up of the constants.
#pragma once

#include "meniscus/core/simd.hpp"

#include <cmath>

namespace meniscus::collision::ccd {

inline constexpr double unit = 0x1p-53;

/// Of the coefficients of a x b . c in s: up to 18 terms, each of at most X Y Z, through 3 * 4 (interpolated differences) + 1 + 1
/// + 1 (product, subtraction, sum of two cross products) + 1 + 2 + 1 (product, dot product, sum of two) roundings: 342 u.
inline constexpr double cubic_bound = 352 * unit;

/// Of the coefficients of a component of a x b, and of the difference of two such: up to 8 terms through 2 * 4 + 1 + 1 + 1 + 1
/// roundings: 96 u, relative to the product of the two extents across the component.
inline constexpr double weight_bound = 100 * unit;

/// The bounds hold where no product overflows, and where those that underflow do not matter: for extents of zero, which make all
/// their products exact zeros, and for those from 2^-300 to 2^300. (What is lost to underflow is less than 2^300 2^-1074 per
/// term, and the bounds are at least u 2^-900.)
MENISCUS_INLINE bool within_range(double extent) {
  return (static_cast<int>(extent == 0) | (static_cast<int>(extent >= 0x1p-300) & static_cast<int>(extent <= 0x1p300))) != 0;
}

struct Vector {
  double x, y, z;
};

MENISCUS_INLINE Vector operator-(const Vector& a, const Vector& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
MENISCUS_INLINE Vector operator+(const Vector& a, const Vector& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
MENISCUS_INLINE Vector operator*(double s, const Vector& a) { return {s * a.x, s * a.y, s * a.z}; }
MENISCUS_INLINE Vector cross(const Vector& a, const Vector& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
MENISCUS_INLINE double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
MENISCUS_INLINE double larger(double a, double b) { return a < b ? b : a; }
MENISCUS_INLINE double smaller(double a, double b) { return b < a ? b : a; }
MENISCUS_INLINE Vector larger(const Vector& a, const Vector& b) { return {larger(a.x, b.x), larger(a.y, b.y), larger(a.z, b.z)}; }
MENISCUS_INLINE Vector smaller(const Vector& a, const Vector& b) {
  return {smaller(a.x, b.x), smaller(a.y, b.y), smaller(a.z, b.z)};
}
MENISCUS_INLINE Vector magnitude(const Vector& a) { return {std::abs(a.x), std::abs(a.y), std::abs(a.z)}; }

/// Three differences of points at one time. For a vertex and a face: from each corner to the vertex. For two edges: the
/// directions of both, and from the first end of one to that of the other.
struct Differences {
  Vector a, b, c;
};

MENISCUS_INLINE Vector extents(const Differences& start, const Differences& end) {
  return larger(larger(larger(magnitude(start.a), magnitude(end.a)), larger(magnitude(start.b), magnitude(end.b))),
                larger(magnitude(start.c), magnitude(end.c)));
}

MENISCUS_INLINE bool within_range(const Vector& extents) {
  return (static_cast<int>(within_range(extents.x)) & static_cast<int>(within_range(extents.y)) &
          static_cast<int>(within_range(extents.z))) != 0;
}

/// The components of a(s) x b(s).
struct Quadratic {
  Vector k0, k1, k2;
};
MENISCUS_INLINE Quadratic cross(const Vector& a0, const Vector& a1, const Vector& b0, const Vector& b1) {
  return {cross(a0, b0), cross(a0, b1) + cross(a1, b0), cross(a1, b1)};
}
MENISCUS_INLINE Quadratic operator-(const Quadratic& a, const Quadratic& b) { return {a.k0 - b.k0, a.k1 - b.k1, a.k2 - b.k2}; }
/// Bounds over the piece, relative to (1 + s)^2.
MENISCUS_INLINE Vector low(const Quadratic& q) { return smaller(smaller(q.k0, q.k1), q.k2); }
MENISCUS_INLINE Vector high(const Quadratic& q) { return larger(larger(q.k0, q.k1), q.k2); }

/// Bounds of the polynomials over a piece of the step.
struct PieceSigns {
  /// The coefficients of the cubic, and a bound of their errors.
  double k0, k1, k2, k3, cubic_error;
  /// Least and largest of the lower bounds, and of the upper bounds, of all weights; one
  /// component per axis. And a bound of their errors.
  Vector low_min, low_max, high_min, high_max, weight_error;

  /// The points are certainly never coplanar.
  MENISCUS_INLINE bool never_coplanar() const {
    const double least = smaller(smaller(k0, k1), smaller(k2, k3));
    const double most = larger(larger(k0, k1), larger(k2, k3));
    return (static_cast<int>(least > cubic_error) | static_cast<int>(most < -cubic_error)) != 0;
  }
  /// Of the weights, one is certainly always positive and one always negative.
  MENISCUS_INLINE bool never_inside() const {
    return (never(low_max.x, high_min.x, weight_error.x) | never(low_max.y, high_min.y, weight_error.y) |
            never(low_max.z, high_min.z, weight_error.z)) != 0;
  }
  /// All weights certainly have the same sign for the whole piece, and none is zero.
  bool always_inside() const {
    return low_min.x > weight_error.x || high_max.x < -weight_error.x || low_min.y > weight_error.y ||
           high_max.y < -weight_error.y || low_min.z > weight_error.z || high_max.z < -weight_error.z;
  }

 private:
  static MENISCUS_INLINE int never(double low, double high, double error) {
    return static_cast<int>(low > error) & static_cast<int>(high < -error);
  }
};

/// `extent` must not be less than that of the whole step.
template <bool edges>
MENISCUS_INLINE PieceSigns piece_signs(const Differences& start, const Differences& end, const Vector& extent) {
  PieceSigns r;
  const Vector flat{extent.y * extent.z, extent.z * extent.x, extent.x * extent.y};
  const Quadratic ab = cross(start.a, end.a, start.b, end.b);
  r.k0 = dot(start.c, ab.k0);
  r.k1 = dot(start.c, ab.k1) + dot(end.c, ab.k0);
  r.k2 = dot(start.c, ab.k2) + dot(end.c, ab.k1);
  r.k3 = dot(end.c, ab.k2);
  r.cubic_error = cubic_bound * (extent.x * flat.x);
  r.weight_error = weight_bound * flat;
  if constexpr (edges) {
    const Quadratic u = cross(start.c, end.c, start.b, end.b);
    const Quadratic v = cross(start.c, end.c, start.a, end.a);
    const Quadratic not_u = ab - u;
    const Quadratic not_v = ab - v;
    r.low_min = smaller(smaller(low(u), low(not_u)), smaller(low(v), low(not_v)));
    r.low_max = larger(larger(low(u), low(not_u)), larger(low(v), low(not_v)));
    r.high_min = smaller(smaller(high(u), high(not_u)), smaller(high(v), high(not_v)));
    r.high_max = larger(larger(high(u), high(not_u)), larger(high(v), high(not_v)));
  } else {
    const Quadratic bc = cross(start.b, end.b, start.c, end.c);
    const Quadratic ca = cross(start.c, end.c, start.a, end.a);
    r.low_min = smaller(smaller(low(ab), low(bc)), low(ca));
    r.low_max = larger(larger(low(ab), low(bc)), low(ca));
    r.high_min = smaller(smaller(high(ab), high(bc)), high(ca));
    r.high_max = larger(larger(high(ab), high(bc)), high(ca));
  }
  return r;
}

}  // namespace meniscus::collision::ccd
