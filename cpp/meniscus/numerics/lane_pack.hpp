/// Packs of eight double-precision numbers, and 3 x 3 matrices of them, for kernels that solve many small problems at once and
/// need too many temporaries for plain loops.
///
/// The compiler splits a pack into as many registers as the instruction set in use needs, so one kernel inside `simd_dispatch`
/// serves all widths with the same bits.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/core/types.hpp"

#include <cmath>
#include <cstring>

#if defined(__GNUC__)
// Packs never cross the boundary of a function that is called: everything here is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace meniscus::numerics {

inline constexpr int pack_size = 8;

using Pack = double __attribute__((vector_size(64)));
/// All bits of a lane are set where true.
using PackMask = long long __attribute__((vector_size(64)));

MENISCUS_INLINE Pack splat(double x) { return Pack{x, x, x, x, x, x, x, x}; }

MENISCUS_INLINE Pack load_pack(const double* p) {
  Pack r;
  std::memcpy(&r, p, sizeof r);
  return r;
}

MENISCUS_INLINE void store_pack(double* p, const Pack& x) { std::memcpy(p, &x, sizeof x); }

MENISCUS_INLINE Pack select(const PackMask& m, const Pack& yes, const Pack& no) { return m ? yes : no; }

MENISCUS_INLINE Pack sqrt(const Pack& x) {
  Pack r;
  for (int i = 0; i < pack_size; ++i) r[i] = __builtin_sqrt(x[i]);
  return r;
}

MENISCUS_INLINE Pack abs(const Pack& x) { return select(x < 0.0, -x, x); }
MENISCUS_INLINE Pack max(const Pack& a, const Pack& b) { return select(a > b, a, b); }
MENISCUS_INLINE Pack min(const Pack& a, const Pack& b) { return select(a < b, a, b); }

MENISCUS_INLINE bool any(const PackMask& m) {
  long long r = 0;
  for (int i = 0; i < pack_size; ++i) r |= m[i];
  return r != 0;
}

/// The sum of all lanes, in a fixed order.
MENISCUS_INLINE double sum_of(const Pack& x) { return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7])); }

/// The greatest lane.
MENISCUS_INLINE double max_of(const Pack& x) {
  double r = x[0];
  for (int i = 1; i < pack_size; ++i) r = x[i] > r ? x[i] : r;
  return r;
}

struct PackVec3 {
  Pack x, y, z;
};

MENISCUS_INLINE PackVec3 operator+(const PackVec3& a, const PackVec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
MENISCUS_INLINE PackVec3 operator-(const PackVec3& a, const PackVec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
MENISCUS_INLINE PackVec3 operator-(const PackVec3& a) { return {-a.x, -a.y, -a.z}; }
MENISCUS_INLINE PackVec3 operator*(const Pack& s, const PackVec3& a) { return {s * a.x, s * a.y, s * a.z}; }
MENISCUS_INLINE Pack dot(const PackVec3& a, const PackVec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
MENISCUS_INLINE PackVec3 cross(const PackVec3& a, const PackVec3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
MENISCUS_INLINE PackVec3 select(const PackMask& m, const PackVec3& a, const PackVec3& b) {
  return {select(m, a.x, b.x), select(m, a.y, b.y), select(m, a.z, b.z)};
}

/// A matrix by columns.
struct PackMat3 {
  PackVec3 a, b, c;
};

MENISCUS_INLINE PackMat3 identity_pack() {
  const Pack i = splat(1.0), o = splat(0.0);
  return {{i, o, o}, {o, i, o}, {o, o, i}};
}
MENISCUS_INLINE PackMat3 operator+(const PackMat3& p, const PackMat3& q) { return {p.a + q.a, p.b + q.b, p.c + q.c}; }
MENISCUS_INLINE PackMat3 operator-(const PackMat3& p, const PackMat3& q) { return {p.a - q.a, p.b - q.b, p.c - q.c}; }
MENISCUS_INLINE PackMat3 operator*(const Pack& s, const PackMat3& p) { return {s * p.a, s * p.b, s * p.c}; }
MENISCUS_INLINE PackMat3 select(const PackMask& m, const PackMat3& p, const PackMat3& q) {
  return {select(m, p.a, q.a), select(m, p.b, q.b), select(m, p.c, q.c)};
}
MENISCUS_INLINE PackVec3 operator*(const PackMat3& p, const PackVec3& v) {
  return {p.a.x * v.x + p.b.x * v.y + p.c.x * v.z, p.a.y * v.x + p.b.y * v.y + p.c.y * v.z,
          p.a.z * v.x + p.b.z * v.y + p.c.z * v.z};
}
MENISCUS_INLINE PackMat3 operator*(const PackMat3& p, const PackMat3& q) { return {p * q.a, p * q.b, p * q.c}; }
MENISCUS_INLINE PackMat3 transposed(const PackMat3& p) {
  return {{p.a.x, p.b.x, p.c.x}, {p.a.y, p.b.y, p.c.y}, {p.a.z, p.b.z, p.c.z}};
}
/// p^T v and p^T q.
MENISCUS_INLINE PackVec3 transposed_times(const PackMat3& p, const PackVec3& v) {
  return {dot(p.a, v), dot(p.b, v), dot(p.c, v)};
}
MENISCUS_INLINE PackMat3 transposed_times(const PackMat3& p, const PackMat3& q) {
  return {transposed_times(p, q.a), transposed_times(p, q.b), transposed_times(p, q.c)};
}
/// The matrix of cofactors: the inverse transposed times the determinant.
MENISCUS_INLINE PackMat3 cofactors(const PackMat3& p) { return {cross(p.b, p.c), cross(p.c, p.a), cross(p.a, p.b)}; }
/// The sum of products of entries.
MENISCUS_INLINE Pack contract(const PackMat3& p, const PackMat3& q) { return dot(p.a, q.a) + dot(p.b, q.b) + dot(p.c, q.c); }
MENISCUS_INLINE Pack trace(const PackMat3& p) { return p.a.x + p.b.y + p.c.z; }

/// A symmetric matrix.
struct PackSym3 {
  Pack xx, yy, zz, xy, yz, zx;
};

MENISCUS_INLINE PackVec3 operator*(const PackSym3& s, const PackVec3& v) {
  return {s.xx * v.x + s.xy * v.y + s.zx * v.z, s.xy * v.x + s.yy * v.y + s.yz * v.z, s.zx * v.x + s.yz * v.y + s.zz * v.z};
}

}  // namespace meniscus::numerics
