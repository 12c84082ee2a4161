/// Polar rotation and principal axes of eight matrices at a time; for use inside of `simd_dispatch`.
#pragma once

#include "meniscus/numerics/lane_pack.hpp"
#include "meniscus/numerics/rotation.hpp"

namespace meniscus::numerics {

namespace detail {
/// Computes the rotations of the lanes that are not done from singular values; out of line, because it is rare.
void polar_lanes_slowly(const PackMat3& a, const PackMask& done, PackMat3& r);
}  // namespace detail

/// The polar rotation of every lane. A lane's result does not depend on its neighbours.
///
/// Newton's iteration R <- (g R + R^-T / g) / 2, where g makes up for far-off scales, converges within three or four steps for
/// usual strains. Lanes that are inverted or badly conditioned take the slow path.
MENISCUS_INLINE PackMat3 polar_lanes(const PackMat3& a) {
  constexpr double worst_determinant = 0.02;
  const Pack square = contract(a, a);
  // Values too small or too large for this scale become NaN in the comparison below.
  PackMat3 r = sqrt(3.0 / square) * a;
  PackMat3 c = cofactors(r);
  Pack det = dot(r.a, c.a);
  const PackMask good = (det > worst_determinant) & (square < 1e280) & (square > 1e-280);
  PackMask active = good;
  for (int i = 0; i < 12; ++i) {
    Pack keep = splat(0.5), add = 0.5 / det;
    const PackMask far = active & (abs(det - 1.0) > 0.2);
    if (any(far)) {
      const Pack g = sqrt(sqrt(contract(c, c) / contract(r, r)) / det);
      keep = select(far, 0.5 * g, keep);
      add = select(far, add / g, add);
    }
    const PackMat3 next = keep * r + add * c;
    const PackMat3 step = next - r;
    r = select(active, next, r);
    active = active & (contract(step, step) > 1e-16);
    if (!any(active)) break;
    c = cofactors(r);
    det = dot(r.a, c.a);
  }
  const PackMask done = good & ~active;
  if (any(~done)) detail::polar_lanes_slowly(a, done, r);
  return r;
}

namespace detail {

/// One Jacobi rotation in the plane of p and q: a_pq becomes 0; r is the third axis.
MENISCUS_INLINE void jacobi_lanes(Pack& app, Pack& aqq, Pack& apq, Pack& arp, Pack& arq, PackVec3& vp, PackVec3& vq) {
  const Pack zero = splat(0.0), one = splat(1.0);
  const PackMask turn = abs(apq) > 1e-300;
  const Pack theta = 0.5 * (aqq - app) / select(turn, apq, one);
  const Pack big = abs(theta);
  // Beyond this the square of theta may overflow, and the angle is 1 / (2 theta) to round-off.
  const PackMask huge = big > 1e100;
  const Pack small = select(huge, one, big);
  Pack t = select(huge, 0.5 / max(big, one), 1.0 / (small + sqrt(small * small + 1.0)));
  t = select(theta < 0.0, -t, t);
  t = select(turn, t, zero);
  const Pack c = 1.0 / sqrt(t * t + 1.0), s = t * c;
  app = app - t * apq;
  aqq = aqq + t * apq;
  apq = zero;
  const Pack p = arp, q = arq;
  arp = c * p - s * q;
  arq = s * p + c * q;
  const PackVec3 u = vp, v = vq;
  vp = c * u - s * v;
  vq = s * u + c * v;
}

}  // namespace detail

/// Eigenvalues and a rotation of eigenvectors (columns) of symmetric matrices, in no particular order.
MENISCUS_INLINE void eigen_lanes(const PackSym3& m, PackVec3& values, PackMat3& vectors) {
  PackSym3 a = m;
  vectors = identity_pack();
  const Pack tiny = 1e-33 * (a.xx * a.xx + a.yy * a.yy + a.zz * a.zz + 2.0 * (a.xy * a.xy + a.yz * a.yz + a.zx * a.zx));
  for (int sweep = 0; sweep < 8; ++sweep) {
    const PackMask off = a.xy * a.xy + a.yz * a.yz + a.zx * a.zx > tiny;
    if (!any(off)) break;
    // In lanes that are done, the remaining off-diagonal entries become 0, so they rotate no further.
    const Pack zero = splat(0.0);
    a.xy = select(off, a.xy, zero);
    a.yz = select(off, a.yz, zero);
    a.zx = select(off, a.zx, zero);
    detail::jacobi_lanes(a.xx, a.yy, a.xy, a.zx, a.yz, vectors.a, vectors.b);
    detail::jacobi_lanes(a.yy, a.zz, a.yz, a.xy, a.zx, vectors.b, vectors.c);
    detail::jacobi_lanes(a.xx, a.zz, a.zx, a.xy, a.yz, vectors.a, vectors.c);
  }
  values = {a.xx, a.yy, a.zz};
}

}  // namespace meniscus::numerics
