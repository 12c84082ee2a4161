/// Eight double-precision numbers in two halves of 32 bytes, for kernels whose sums must stay in registers: GCC keeps vectors
/// that are wider than the registers of an instruction set, as `Pack`, in memory.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/core/types.hpp"

#include <cmath>
#include <cstring>

#if defined(__GNUC__)
// Halves never cross the boundary of a function that is called: everything here is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace meniscus::numerics {

inline constexpr int octet_size = 8;

using Half = double __attribute__((vector_size(32)));
using HalfBits = unsigned long long __attribute__((vector_size(32)));

struct Octet {
  Half low, high;
};

MENISCUS_INLINE Octet eight(double x) { return {Half{x, x, x, x}, Half{x, x, x, x}}; }
MENISCUS_INLINE Octet load_octet(const double* p) {
  Octet r;
  std::memcpy(&r.low, p, sizeof r.low);
  std::memcpy(&r.high, p + 4, sizeof r.high);
  return r;
}
MENISCUS_INLINE void store_octet(double* p, const Octet& x) {
  std::memcpy(p, &x.low, sizeof x.low);
  std::memcpy(p + 4, &x.high, sizeof x.high);
}

MENISCUS_INLINE Octet operator+(const Octet& a, const Octet& b) { return {a.low + b.low, a.high + b.high}; }
MENISCUS_INLINE Octet operator-(const Octet& a, const Octet& b) { return {a.low - b.low, a.high - b.high}; }
MENISCUS_INLINE Octet operator*(const Octet& a, const Octet& b) { return {a.low * b.low, a.high * b.high}; }
MENISCUS_INLINE Octet operator/(const Octet& a, const Octet& b) { return {a.low / b.low, a.high / b.high}; }
MENISCUS_INLINE Octet operator-(const Octet& a) { return {-a.low, -a.high}; }
MENISCUS_INLINE Octet operator*(double s, const Octet& a) { return {s * a.low, s * a.high}; }
MENISCUS_INLINE Octet operator+(double s, const Octet& a) { return {s + a.low, s + a.high}; }
MENISCUS_INLINE Octet operator-(double s, const Octet& a) { return {s - a.low, s - a.high}; }
MENISCUS_INLINE Octet operator-(const Octet& a, double s) { return {a.low - s, a.high - s}; }
MENISCUS_INLINE Octet& operator+=(Octet& a, const Octet& b) { return a = a + b; }
MENISCUS_INLINE Octet& operator-=(Octet& a, const Octet& b) { return a = a - b; }
MENISCUS_INLINE Octet& operator*=(Octet& a, const Octet& b) { return a = a * b; }

MENISCUS_INLINE Half root_of(const Half& x) {
  return Half{__builtin_sqrt(x[0]), __builtin_sqrt(x[1]), __builtin_sqrt(x[2]), __builtin_sqrt(x[3])};
}
MENISCUS_INLINE Octet sqrt(const Octet& x) { return {root_of(x.low), root_of(x.high)}; }

/// The sum of all lanes, in a fixed order.
MENISCUS_INLINE double sum_of(const Octet& x) {
  const Half s = x.low + x.high;
  return (s[0] + s[1]) + (s[2] + s[3]);
}

/// Adds the first `count` lanes to numbers.
MENISCUS_INLINE void add_lanes(const Octet& x, Index count, double* to) {
  if (count >= octet_size) {
    store_octet(to, load_octet(to) + x);
    return;
  }
  std::array<double, octet_size> values;
  store_octet(values.data(), x);
  for (Index lane = 0; lane < count; ++lane) to[lane] += values[lane];
}

struct OctetVec3 {
  Octet x, y, z;
};

MENISCUS_INLINE OctetVec3 operator*(const Octet& s, const OctetVec3& a) { return {s * a.x, s * a.y, s * a.z}; }
MENISCUS_INLINE Octet dot(const OctetVec3& a, const OctetVec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
MENISCUS_INLINE OctetVec3 cross(const OctetVec3& a, const OctetVec3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

}  // namespace meniscus::numerics
