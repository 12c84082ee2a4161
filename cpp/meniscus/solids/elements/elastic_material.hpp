/// Elastic materials, isotropic at rest: energies, first Piola-Kirchhoff stresses and their derivatives as functions of the
/// deformation gradient F, eight elements at a time, for use inside of `simd_dispatch`.
///
/// All of them agree with Hooke's law at rest. Energies and stresses are finite for every F, also flat and inverted ones.
///
/// Sources: Mueller et al., "Real time physics class notes", 2008, sections 4.1 to 4.3; Smith, de Goes and Kim, "Stable
/// neo-Hookean flesh simulation", 2018, section 3; Chao et al., "A simple geometric model for elastic deformations", 2010.
#pragma once

#include "meniscus/numerics/rotation_lanes.hpp"

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

enum class Material : std::int8_t {
  /// Cauchy strain: right for small rotations only.
  linear,
  /// Hooke's law in a frame rotated by the polar rotation of F: P = R (2 mu (S - I) + lambda tr(S - I) I), F = R S.
  corotational,
  /// Hooke's law between Green strain and the second Piola-Kirchhoff stress. Softens under strong compression.
  st_venant_kirchhoff,
  /// The stable neo-Hookean energy of 2018, which resists inversion.
  neo_hookean,
};

/// Lame's constants, Pa.
struct Lame {
  double lambda, mu;
};

inline Lame lame_constants(double youngs_modulus, double poissons_ratio) {
  return {youngs_modulus * poissons_ratio / ((1 + poissons_ratio) * (1 - 2 * poissons_ratio)),
          youngs_modulus / (2 * (1 + poissons_ratio))};
}

namespace detail {

/// Constants of the stable neo-Hookean energy, which is
/// m / 2 (I - 3 - log((I + 1) / 4)) + l / 2 (J - 1)^2 - 3 / 4 m (J - 1), with I the sum of squares of F and J its determinant.
struct NeoHookean {
  Pack m, l;
  MENISCUS_INLINE NeoHookean(const Pack& lambda, const Pack& mu) : m((4.0 / 3.0) * mu), l(lambda + (5.0 / 6.0) * mu) {}
  MENISCUS_INLINE Pack pressure(const Pack& det) const { return l * (det - 1.0) - 0.75 * m; }
};

MENISCUS_INLINE PackMat3 less_identity(const PackMat3& f) {
  return {{f.a.x - 1.0, f.a.y, f.a.z}, {f.b.x, f.b.y - 1.0, f.b.z}, {f.c.x, f.c.y, f.c.z - 1.0}};
}

MENISCUS_INLINE PackSym3 symmetric_part(const PackMat3& f) {
  return {f.a.x, f.b.y, f.c.z, 0.5 * (f.a.y + f.b.x), 0.5 * (f.b.z + f.c.y), 0.5 * (f.a.z + f.c.x)};
}

MENISCUS_INLINE PackSym3 green_strain(const PackMat3& f) {
  return {0.5 * (dot(f.a, f.a) - 1.0), 0.5 * (dot(f.b, f.b) - 1.0), 0.5 * (dot(f.c, f.c) - 1.0),
          0.5 * dot(f.a, f.b),         0.5 * dot(f.b, f.c),         0.5 * dot(f.c, f.a)};
}

/// 2 mu e + lambda tr(e) I.
MENISCUS_INLINE PackMat3 hooke(const PackSym3& e, const Pack& lambda, const Pack& mu) {
  const Pack p = lambda * (e.xx + e.yy + e.zz), two = 2.0 * mu, xy = two * e.xy, yz = two * e.yz, zx = two * e.zx;
  return {{two * e.xx + p, xy, zx}, {xy, two * e.yy + p, yz}, {zx, yz, two * e.zz + p}};
}

/// mu e : e + lambda / 2 tr(e)^2.
MENISCUS_INLINE Pack hooke_energy(const PackSym3& e, const Pack& lambda, const Pack& mu) {
  const Pack t = e.xx + e.yy + e.zz;
  return mu * (e.xx * e.xx + e.yy * e.yy + e.zz * e.zz + 2.0 * (e.xy * e.xy + e.yz * e.yz + e.zx * e.zx)) + 0.5 * lambda * t * t;
}

}  // namespace detail

/// Energy per volume at rest, J/m^3.
template <Material material>
MENISCUS_INLINE Pack energy_density(const PackMat3& f, const Pack& lambda, const Pack& mu) {
  if constexpr (material == Material::linear) {
    return detail::hooke_energy(detail::symmetric_part(detail::less_identity(f)), lambda, mu);
  } else if constexpr (material == Material::corotational) {
    const PackMat3 r = polar_lanes(f);
    return detail::hooke_energy(detail::symmetric_part(detail::less_identity(transposed_times(r, f))), lambda, mu);
  } else if constexpr (material == Material::st_venant_kirchhoff) {
    return detail::hooke_energy(detail::green_strain(f), lambda, mu);
  } else {
    const detail::NeoHookean c(lambda, mu);
    const Pack growth = contract(f, f) - 3.0, j = dot(f.a, cross(f.b, f.c)) - 1.0;
    Pack log;
    for (int i = 0; i < pack_size; ++i) log[i] = std::log1p(0.25 * growth[i]);
    return 0.5 * (c.m * (growth - log - 1.5 * j) + c.l * j * j);
  }
}

/// The first Piola-Kirchhoff stress, Pa.
template <Material material>
MENISCUS_INLINE PackMat3 stress(const PackMat3& f, const Pack& lambda, const Pack& mu) {
  if constexpr (material == Material::linear) {
    return detail::hooke(detail::symmetric_part(detail::less_identity(f)), lambda, mu);
  } else if constexpr (material == Material::corotational) {
    const PackMat3 r = polar_lanes(f);
    return r * detail::hooke(detail::symmetric_part(detail::less_identity(transposed_times(r, f))), lambda, mu);
  } else if constexpr (material == Material::st_venant_kirchhoff) {
    return f * detail::hooke(detail::green_strain(f), lambda, mu);
  } else {
    const detail::NeoHookean c(lambda, mu);
    const PackMat3 cof = cofactors(f);
    return c.m * (1.0 - 1.0 / (contract(f, f) + 1.0)) * f + c.pressure(dot(f.a, cof.a)) * cof;
  }
}

/// F = u diag(s) v^T with rotations u and v.
struct PrincipalAxes {
  PackMat3 u, v;
  PackVec3 s;
};

MENISCUS_INLINE PrincipalAxes principal_axes(const PackMat3& f) {
  PrincipalAxes r;
  const PackMat3 q = polar_lanes(f);
  eigen_lanes(detail::symmetric_part(transposed_times(q, f)), r.s, r.v);
  r.u = q * r.v;
  return r;
}

/// The derivative of the stress between principal axes: with G = u^T dF v,
/// u^T dP v = diag(a diag(G)) + what, for i != j, is p_ij G_ij + q_ij G_ji; pairs in the order 01, 12, 20.
struct PrincipalTangent {
  PackSym3 a;
  PackVec3 p, q;
};

namespace detail {

/// The same without the directions in which it is negative: `a` and the pairs G_ij + G_ji and G_ij - G_ji are independent.
MENISCUS_INLINE void make_definite(PrincipalTangent& t) {
  const Pack zero = splat(0.0);
  PackVec3 values;
  PackMat3 axes;
  eigen_lanes(t.a, values, axes);
  if (any((values.x < 0.0) | (values.y < 0.0) | (values.z < 0.0))) {
    const PackVec3 v{max(values.x, zero), max(values.y, zero), max(values.z, zero)};
    const auto entry = [&](const Pack& a0, const Pack& b0, const Pack& c0, const Pack& a1, const Pack& b1, const Pack& c1) {
      return v.x * a0 * a1 + v.y * b0 * b1 + v.z * c0 * c1;
    };
    const PackVec3 &a = axes.a, &b = axes.b, &c = axes.c;
    t.a = {entry(a.x, b.x, c.x, a.x, b.x, c.x), entry(a.y, b.y, c.y, a.y, b.y, c.y), entry(a.z, b.z, c.z, a.z, b.z, c.z),
           entry(a.x, b.x, c.x, a.y, b.y, c.y), entry(a.y, b.y, c.y, a.z, b.z, c.z), entry(a.z, b.z, c.z, a.x, b.x, c.x)};
  }
  const auto pair = [&](Pack& p, Pack& q) {
    const Pack flip = max(p + q, zero), twist = max(p - q, zero);
    p = 0.5 * (flip + twist);
    q = 0.5 * (flip - twist);
  };
  pair(t.p.x, t.q.x), pair(t.p.y, t.q.y), pair(t.p.z, t.q.z);
}

}  // namespace detail

/// Tangent of materials whose principal stresses are polynomials up to a factor, without division by s_i - s_j.
template <Material material>
MENISCUS_INLINE PrincipalTangent principal_tangent(const PackVec3& s, const Pack& lambda, const Pack& mu) {
  static_assert(material == Material::st_venant_kirchhoff || material == Material::neo_hookean);
  PrincipalTangent t;
  const Pack xx = s.x * s.x, yy = s.y * s.y, zz = s.z * s.z, xy = s.x * s.y, yz = s.y * s.z, zx = s.z * s.x;
  if constexpr (material == Material::st_venant_kirchhoff) {
    // The principal stresses are g s_i + mu s_i^3.
    const Pack g = 0.5 * lambda * (xx + yy + zz - 3.0) - mu, three = 3.0 * mu;
    t.a = {
        g + (three + lambda) * xx, g + (three + lambda) * yy, g + (three + lambda) * zz, lambda * xy, lambda * yz, lambda * zx};
    t.p = {g + mu * (xx + yy), g + mu * (yy + zz), g + mu * (zz + xx)};
    t.q = {mu * xy, mu * yz, mu * zx};
  } else {
    // They are g s_i + k s_j s_l.
    const detail::NeoHookean c(lambda, mu);
    const Pack w = 1.0 / (xx + yy + zz + 1.0), k = c.pressure(s.x * yz), g = c.m * (1.0 - w), h = 2.0 * c.m * w * w;
    t.a = {g + h * xx + c.l * yz * yz,       g + h * yy + c.l * zx * zx,       g + h * zz + c.l * xy * xy,
           h * xy + c.l * yz * zx + k * s.z, h * yz + c.l * zx * xy + k * s.x, h * zx + c.l * xy * yz + k * s.y};
    t.p = {g, g, g};
    t.q = {-k * s.z, -k * s.x, -k * s.y};
  }
  return t;
}

}  // namespace meniscus::solids
