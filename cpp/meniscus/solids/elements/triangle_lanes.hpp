/// Common parts of the kernels over the triangles of a membrane, for use inside of `simd_dispatch`.
#pragma once

#include "meniscus/solids/elements/element_lanes.hpp"
#include "meniscus/solids/elements/triangle_membrane.hpp"

namespace meniscus::solids::detail {
using namespace numerics;  // packs and their arithmetic

/// A 3 x 2 matrix by columns.
struct PackMat32 {
  PackVec3 a, b;
};

struct PackVec2 {
  Pack x, y;
};

MENISCUS_INLINE PackMat32 edges_of(const TriangleMembrane::Rest& e, const mesh::Point* x) {
  Pack p[3][3];
  for (int k = 0; k < 3; ++k)
    for (int l = 0; l < pack_size; ++l) {
      const double* const from = x[e.node[k][l]].data();
      for (int d = 0; d < 3; ++d) p[k][d][l] = from[d];
    }
  return {{p[1][0] - p[0][0], p[1][1] - p[0][1], p[1][2] - p[0][2]}, {p[2][0] - p[0][0], p[2][1] - p[0][1], p[2][2] - p[0][2]}};
}

/// d1 y1^T + d2 y2^T.
MENISCUS_INLINE PackMat32 gradient(const PackMat32& d, const PackVec2& y1, const PackVec2& y2) {
  return {y1.x * d.a + y2.x * d.b, y1.y * d.a + y2.y * d.b};
}

MENISCUS_INLINE PackVec2 row_of(const TriangleMembrane::Rest& e, int k) {
  return {load_pack(e.y[2 * k]), load_pack(e.y[2 * k + 1])};
}

MENISCUS_INLINE PackMat32 gradient_of(const TriangleMembrane::Rest& e, const mesh::Point* x) {
  return gradient(edges_of(e, x), row_of(e, 0), row_of(e, 1));
}

/// Puts -m y_k at the corners 1 and 2, and minus their sum at corner 0.
MENISCUS_INLINE void put_forces(mesh::Point* to, const PackMat32& m, const PackVec2& y1, const PackVec2& y2) {
  const PackVec3 f1 = y1.x * m.a + y1.y * m.b, f2 = y2.x * m.a + y2.y * m.b, f0 = f1 + f2;
  const Pack v[9] = {f0.x, f0.y, f0.z, -f1.x, -f1.y, -f1.z, -f2.x, -f2.y, -f2.z};
  double* const out = to->data();
  for (int l = 0; l < pack_size; ++l)
    for (int k = 0; k < 9; ++k) out[9 * l + k] = v[k][l];
}

MENISCUS_INLINE void put_forces(mesh::Point* to, const PackMat32& m, const TriangleMembrane::Rest& e) {
  put_forces(to, m, row_of(e, 0), row_of(e, 1));
}

inline void put_gradients(const PackMat32& m, std::size_t first, std::span<TriangleMembrane::Gradient> out) {
  const std::size_t count = std::min<std::size_t>(pack_size, out.size() - first);
  const Pack v[6] = {m.a.x, m.b.x, m.a.y, m.b.y, m.a.z, m.b.z};
  for (std::size_t l = 0; l < count; ++l)
    for (std::size_t k = 0; k < 6; ++k) out[first + l].data()[k] = v[k][l];
}

/// F = u0 s0 v0^T + u1 s1 v1^T with s0, s1 >= 0, orthonormal u0, u1 and v0 = (c, s), v1 = (-s, c).
struct MembraneAxes {
  PackVec3 u0, u1;
  Pack c, s;
  Pack s0, s1;
};

/// A unit vector perpendicular to the unit vector n.
MENISCUS_INLINE PackVec3 across(const PackVec3& n) {
  const Pack zero = splat(0.0), one = splat(1.0), x = abs(n.x), y = abs(n.y), z = abs(n.z);
  const PackMask by_x = (x <= y) & (x <= z), by_y = ~by_x & (y <= z);
  const PackVec3 axis{select(by_x, one, zero), select(by_y, one, zero), select(by_x | by_y, zero, one)};
  const PackVec3 r = cross(n, axis);
  return (1.0 / sqrt(dot(r, r))) * r;
}

/// Computed by one Jacobi rotation of the two columns, which is exact here.
MENISCUS_INLINE MembraneAxes membrane_axes(const PackMat32& f) {
  const Pack zero = splat(0.0), one = splat(1.0);
  const Pack aa = dot(f.a, f.a), bb = dot(f.b, f.b), ab = dot(f.a, f.b);
  const PackMask turn = abs(ab) > 1e-300;
  const Pack theta = 0.5 * (bb - aa) / select(turn, ab, one), big = abs(theta);
  const PackMask huge = big > 1e100;
  const Pack small = select(huge, one, big);
  Pack t = select(huge, 0.5 / max(big, one), 1.0 / (small + sqrt(small * small + 1.0)));
  t = select(turn, select(theta < 0.0, -t, t), zero);
  MembraneAxes r;
  r.c = 1.0 / sqrt(t * t + 1.0);
  const Pack s = t * r.c;
  // Columns of F v with v0 = (c, -s) and v1 = (s, c).
  const PackVec3 w0 = r.c * f.a - s * f.b, w1 = s * f.a + r.c * f.b;
  r.s = -s;
  r.s0 = sqrt(dot(w0, w0));
  r.s1 = sqrt(dot(w1, w1));
  // The longer one has a direction unless both are zero; the other is perpendicular to it.
  const PackMask first = r.s0 >= r.s1;
  const Pack length = select(first, r.s0, r.s1), other = select(first, r.s1, r.s0);
  const PackMask point = ~(length > 0.0);
  PackVec3 u = select(first, w0, w1);
  u = select(point, PackVec3{one, zero, zero}, (1.0 / select(point, one, length)) * u);
  PackVec3 w = select(first, w1, w0);
  const PackMask line = ~(other > 1e-15 * length);
  w = select(line, across(u), (1.0 / select(line, one, other)) * w);
  w = w - dot(u, w) * u;
  w = (1.0 / sqrt(dot(w, w))) * w;
  r.u0 = select(first, u, w);
  r.u1 = select(first, w, u);
  return r;
}

/// u0 p0 v0^T + u1 p1 v1^T.
MENISCUS_INLINE PackMat32 from_axes(const MembraneAxes& a, const Pack& p0, const Pack& p1) {
  return {(p0 * a.c) * a.u0 - (p1 * a.s) * a.u1, (p0 * a.s) * a.u0 + (p1 * a.c) * a.u1};
}

/// Energy per volume at rest, J/m^3.
MENISCUS_INLINE Pack membrane_energy(Material material, const MembraneAxes& a, const Pack& lambda, const Pack& mu) {
  if (material == Material::neo_hookean) {
    // The change of area is never negative, so that this polynomial resists collapse: (s0 - s1)^2 and (s0 s1 - 1)^2.
    const Pack d = a.s0 - a.s1, j = a.s0 * a.s1 - 1.0;
    return 0.5 * (mu * d * d + (lambda + mu) * j * j);
  }
  const bool green = material == Material::st_venant_kirchhoff;
  const Pack e0 = green ? 0.5 * (a.s0 * a.s0 - 1.0) : a.s0 - 1.0, e1 = green ? 0.5 * (a.s1 * a.s1 - 1.0) : a.s1 - 1.0;
  return mu * (e0 * e0 + e1 * e1) + 0.5 * lambda * (e0 + e1) * (e0 + e1);
}

/// The first Piola-Kirchhoff stress, Pa.
MENISCUS_INLINE PackMat32 membrane_stress(Material material, const MembraneAxes& a, const Pack& lambda, const Pack& mu) {
  if (material == Material::neo_hookean) {
    const Pack d = mu * (a.s0 - a.s1), k = (lambda + mu) * (a.s0 * a.s1 - 1.0);
    return from_axes(a, d + k * a.s1, k * a.s0 - d);
  }
  if (material == Material::st_venant_kirchhoff) {
    const Pack e0 = 0.5 * (a.s0 * a.s0 - 1.0), e1 = 0.5 * (a.s1 * a.s1 - 1.0), p = lambda * (e0 + e1);
    return from_axes(a, a.s0 * (2.0 * mu * e0 + p), a.s1 * (2.0 * mu * e1 + p));
  }
  const Pack p = lambda * (a.s0 + a.s1 - 2.0);
  return from_axes(a, 2.0 * mu * (a.s0 - 1.0) + p, 2.0 * mu * (a.s1 - 1.0) + p);
}

/// The derivative of the stress between principal axes. With G = [u0 u1 n]^T dF [v0 v1] it is diag(a diag(G)) in the plane,
/// p G_ij + q G_ji beside the diagonal, and o_j G_nj out of the plane.
struct MembraneTangent {
  Pack a00, a11, a01, p, q, o0, o1;
};

MENISCUS_INLINE MembraneTangent membrane_tangent(Material material, const PackVec2& s, const Pack& lambda, const Pack& mu,
                                                 const Pack& least) {
  const Pack s0 = s.x, s1 = s.y, c0 = max(s0, least), c1 = max(s1, least);
  MembraneTangent t;
  if (material == Material::neo_hookean) {
    const Pack l = lambda + mu, k = l * (s0 * s1 - 1.0) - mu;
    t = {mu + l * s1 * s1, mu + l * s0 * s0, k + l * s0 * s1, mu, -k, mu + k * s1 / c0, mu + k * s0 / c1};
  } else if (material == Material::st_venant_kirchhoff) {
    const Pack xx = s0 * s0, yy = s1 * s1, g = 0.5 * lambda * (xx + yy - 2.0) - mu, three = 3.0 * mu + lambda;
    t = {g + three * xx, g + three * yy, lambda * s0 * s1, g + mu * (xx + yy), mu * s0 * s1, g + mu * xx, g + mu * yy};
  } else {
    const Pack p = lambda * (s0 + s1 - 2.0), twist = 2.0 * mu + 2.0 * (p - 2.0 * mu) / max(s0 + s1, least);
    t = {2.0 * mu + lambda,
         2.0 * mu + lambda,
         lambda,
         mu + 0.5 * twist,
         mu - 0.5 * twist,
         (2.0 * mu * (s0 - 1.0) + p) / c0,
         (2.0 * mu * (s1 - 1.0) + p) / c1};
  }
  return t;
}

/// Removes the directions in which it is negative.
MENISCUS_INLINE void make_definite(MembraneTangent& t) {
  const Pack zero = splat(0.0);
  // Eigenvalues of the 2 x 2 matrix: mean +- radius, and the projections onto its eigenvectors.
  const Pack mean = 0.5 * (t.a00 + t.a11), half = 0.5 * (t.a00 - t.a11), radius = sqrt(half * half + t.a01 * t.a01);
  const Pack high = max(mean + radius, zero), low = max(mean - radius, zero);
  const PackMask round = ~(radius > 1e-300);
  const Pack middle = 0.5 * (high + low), part = select(round, zero, 0.5 * (high - low) / select(round, splat(1.0), radius));
  t.a00 = middle + part * half;
  t.a11 = middle - part * half;
  t.a01 = part * t.a01;
  const Pack flip = max(t.p + t.q, zero), twist = max(t.p - t.q, zero);
  t.p = 0.5 * (flip + twist);
  t.q = 0.5 * (flip - twist);
  t.o0 = max(t.o0, zero);
  t.o1 = max(t.o1, zero);
}

/// Positions of the fields of a triangle; stiffnesses are multiplied by the volume. `carrier`, by columns, maps Hooke's law in
/// the plane at rest into space: R for the frozen tangent of corotational triangles, F for the others and for all damping, which
/// rotations do not change.
struct MembraneFields {
  static constexpr int carrier = 0, lambda = 6, mu = 7, u = 8, z1 = 17, z2 = 19, tangent = 21, damper = 28, count = 34;
};

}  // namespace meniscus::solids::detail
