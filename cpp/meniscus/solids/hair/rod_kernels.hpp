/// Discrete elastic rods, eight strands at once: frames, energies, forces and their derivatives (included by kernels only).
///
/// A strand of n points fills slots 1 to n of a pack. Slots 0 and n + 1 stand for clamps: the edges 0 and n have a given
/// direction and director, and no length. Bending at a point depends on |kb|^2 = 4 tan^2(turn / 2), which no twist changes, and
/// on the product of kb with the natural curvature, which turns with the material frames.
///
/// Sources: Bergou, Wardetzky, Robinson, Audoly and Grinspun, "Discrete elastic rods", 2008; Bergou, Audoly, Vouga, Wardetzky and
/// Grinspun, "Discrete viscous threads", 2010 (time-parallel frames, derivatives of the twist).
#pragma once

#include "meniscus/solids/hair/banded_lanes.hpp"

namespace meniscus::solids::hair {

/// The angle of the unit vector (c, s), in (-pi, pi].
MENISCUS_INLINE Pack angle_of(const Pack& c, const Pack& s) {
  const Pack zero = splat(0.0), one = splat(1.0), half = splat(0.5), tiny = splat(1e-300);
  const Pack sign = select(s < zero, -one, one);
  const Pack long_cos = sqrt(max(half * (one + c), zero)), long_sin = sqrt(max(half * (one - c), zero));
  const PackMask right = c >= zero;
  const Pack half_sin = select(right, s * half / max(long_cos, tiny), sign * long_sin);
  const Pack half_cos = select(right, long_cos, abs(s) * half / max(long_sin, tiny));
  Pack q = half_sin / (one + half_cos);  // tan of a quarter of the angle
  for (int k = 0; k < 2; ++k) q = q / (one + sqrt(one + q * q));
  // The series of the arc tangent for |q| <= tan(pi / 16) has 1e-17 after twelve terms.
  const Pack qq = -(q * q);
  Pack series = splat(1.0 / 25);
  for (int k = 11; k >= 0; --k) series = series * qq + splat(1.0 / (2 * k + 1));
  return splat(16.0) * q * series;
}

MENISCUS_INLINE Pack whole_number(const Pack& x) {
  Pack r;
  for (int i = 0; i < pack_size; ++i) r[i] = __builtin_floor(x[i] + 0.5);
  return r;
}

/// Carries a vector across t along the shortest turn from t to s; both unit and not opposite.
MENISCUS_INLINE PackVec3 transported(const PackVec3& v, const PackVec3& t, const PackVec3& s) {
  const Pack c = max(splat(1.0) + dot(t, s), splat(1e-12));
  return v - (dot(v, s) / c) * (t + s);
}

/// Unit vector across the unit vector t, from one that nearly is.
MENISCUS_INLINE PackVec3 across(const PackVec3& v, const PackVec3& t) {
  const PackVec3 w = v - dot(v, t) * t;
  return (splat(1.0) / sqrt(max(dot(w, w), splat(1e-300)))) * w;
}

/// An edge as the bending of its ends sees it.
struct EdgeFrame {
  /// Unit; t x d is the second director.
  PackVec3 t, d;
  /// 1/m; 0 for clamps.
  Pack inverse;
};

/// What a point resists to: stiffness divided by the length of its cell, natural curvature binormal along d and t x d (no unit),
/// natural twist.
struct PointLaw {
  Pack bending, twisting, first, second, twist;
};

/// Derivatives of the energy of a point: by the edges before and behind it (e, f) and their twists (p, q).
struct PointForces {
  PackVec3 e, f;
  Pack p, q;
};

struct PointStiffness {
  PackMat3 ee, ef, ff;
  PackVec3 ep, eq, fp, fq;
  Pack pp, pq, qq;
};

/// a b^T.
MENISCUS_INLINE PackMat3 outer(const PackVec3& a, const PackVec3& b) { return {b.x * a, b.y * a, b.z * a}; }
MENISCUS_INLINE PackMat3 symmetric(const PackVec3& a, const PackVec3& b) { return outer(a, b) + outer(b, a); }
MENISCUS_INLINE PackMat3 cross_matrix(const PackVec3& w) {
  const Pack o = splat(0.0);
  return {{o, w.z, -w.y}, {-w.z, o, w.x}, {w.y, -w.x, o}};
}

/// Geometry of a point that forces and stiffness share.
struct PointShape {
  Pack c, chi, k;
  PackVec3 kb, tt, ue, uf, we, wf, a, b;
};

MENISCUS_INLINE PointShape shape_of(const EdgeFrame& e, const EdgeFrame& f, const PointLaw& law) {
  PointShape s;
  s.c = dot(e.t, f.t);
  s.chi = max(splat(1.0) + s.c, splat(1e-9));
  const Pack inverse = splat(1.0) / s.chi;
  s.kb = (splat(2.0) * inverse) * cross(e.t, f.t);
  s.tt = inverse * (e.t + f.t);
  // The natural curvature turns with the frames: u is its direction along the directors, w = t x u across.
  s.ue = law.first * e.d + law.second * cross(e.t, e.d);
  s.uf = law.first * f.d + law.second * cross(f.t, f.d);
  s.we = cross(e.t, s.ue);
  s.wf = cross(f.t, s.uf);
  const PackVec3 w = inverse * (s.we + s.wf);
  s.a = cross(f.t, w);
  s.b = cross(e.t, w);
  s.k = splat(0.5) * dot(s.we + s.wf, s.kb);
  return s;
}

/// Energy of a point with curvature binormal kb and twist m.
MENISCUS_INLINE Pack point_energy(const PointShape& s, const PointLaw& law, const Pack& m) {
  const Pack half = splat(0.5), natural = law.first * law.first + law.second * law.second;
  return law.bending * (half * dot(s.kb, s.kb) - s.k + half * natural) + half * law.twisting * m * m;
}

MENISCUS_INLINE PointForces point_gradient(const EdgeFrame& e, const EdgeFrame& f, const PointLaw& law, const PointShape& s,
                                           const Pack& m) {
  const Pack half = splat(0.5), four = splat(4.0);
  const Pack slope = -four / (s.chi * s.chi) * law.bending, moment = law.twisting * m;
  PointForces g;
  g.e = e.inverse * (slope * (f.t - s.c * e.t) - law.bending * (s.a - s.k * s.tt) + (half * moment) * s.kb);
  g.f = f.inverse * (slope * (e.t - s.c * f.t) + law.bending * (s.b + s.k * s.tt) + (half * moment) * s.kb);
  g.p = half * law.bending * dot(s.kb, s.ue) - moment;
  g.q = half * law.bending * dot(s.kb, s.uf) + moment;
  return g;
}

/// Adds scale times the outer products of (e, f, p, q).
MENISCUS_INLINE void add_square(PointStiffness& h, const Pack& scale, const PointForces& g) {
  const PackVec3 e = scale * g.e, f = scale * g.f;
  h.ee = h.ee + outer(e, g.e);
  h.ef = h.ef + outer(e, g.f);
  h.ff = h.ff + outer(f, g.f);
  h.ep = h.ep + g.p * e;
  h.eq = h.eq + g.q * e;
  h.fp = h.fp + g.p * f;
  h.fq = h.fq + g.q * f;
  h.pp += scale * g.p * g.p;
  h.pq += scale * g.p * g.q;
  h.qq += scale * g.q * g.q;
}

/// Only first derivatives of curvatures and twist: never indefinite, and exact where the strand has its natural shape.
MENISCUS_INLINE PointStiffness definite_stiffness(const EdgeFrame& e, const EdgeFrame& f, const PointLaw& law,
                                                  const PointShape& s) {
  const Pack o = splat(0.0), half = splat(0.5), inverse = splat(1.0) / s.chi;
  const PackVec3 zero{o, o, o};
  PointStiffness h{{zero, zero, zero}, {zero, zero, zero}, {zero, zero, zero}, zero, zero, zero, zero, o, o, o};
  const PackVec3 e2 = cross(e.t, e.d), f2 = cross(f.t, f.d);
  const auto curvature = [&](const PackVec3& de, const PackVec3& df, const PackVec3& te, const PackVec3& tf) {
    // Along w = (de + df) / 2, whose directors turn into -te and -tf.
    const Pack k = half * dot(de + df, s.kb);
    const PackVec3 w = inverse * (de + df);
    return PointForces{e.inverse * (cross(f.t, w) - k * s.tt), -(f.inverse * (cross(e.t, w) + k * s.tt)), -half * dot(s.kb, te),
                       -half * dot(s.kb, tf)};
  };
  add_square(h, law.bending, curvature(e2, f2, e.d, f.d));
  add_square(h, law.bending, curvature(-e.d, -f.d, e2, f2));
  add_square(h, law.twisting, {(half * e.inverse) * s.kb, (half * f.inverse) * s.kb, splat(-1.0), splat(1.0)});
  return h;
}

/// All second derivatives.
MENISCUS_INLINE PointStiffness exact_stiffness(const EdgeFrame& e, const EdgeFrame& f, const PointLaw& law, const PointShape& s,
                                               const Pack& m) {
  const Pack o = splat(0.0), half = splat(0.5), one = splat(1.0), two = splat(2.0), four = splat(4.0);
  const Pack inverse = one / s.chi, i2 = inverse * inverse;
  const PackMat3 unit = identity_pack();
  const PackVec3 ce = f.t - s.c * e.t, cf = e.t - s.c * f.t;
  const Pack slope = -four * i2, bend = splat(8.0) * i2 * inverse, k2 = two * s.k, ratio = s.k * inverse;
  const PackMat3 tt = outer(s.tt, s.tt), ee = outer(e.t, e.t), ff = outer(f.t, f.t), ef = outer(e.t, f.t);
  const PackMat3 along = ef + transposed(ef);
  const Pack quarter = splat(0.25), moment = law.twisting * m;
  PointStiffness h;
  // |kb|^2 / 2 as a function of the cosine, less the natural part.
  PackMat3 see = bend * outer(ce, ce) + slope * (splat(3.0) * s.c * ee - along - s.c * unit);
  PackMat3 sff = bend * outer(cf, cf) + slope * (splat(3.0) * s.c * ff - along - s.c * unit);
  PackMat3 sef = bend * outer(ce, cf) + slope * (unit - ee - ff + s.c * ef);
  see = see - (k2 * tt - symmetric(s.a, s.tt) - ratio * (unit - ee) + quarter * symmetric(s.kb, s.we));
  sff = sff - (k2 * tt + symmetric(s.b, s.tt) - ratio * (unit - ff) + quarter * symmetric(s.kb, s.wf));
  const PackVec3 w = inverse * (s.we + s.wf);
  sef = sef - (k2 * tt - outer(s.a, s.tt) + outer(s.tt, s.b) - cross_matrix(w) - ratio * (unit + ef));
  h.ee = (e.inverse * e.inverse) * (law.bending * see - (quarter * moment) * symmetric(s.kb, e.t + s.tt));
  h.ff = (f.inverse * f.inverse) * (law.bending * sff - (quarter * moment) * symmetric(s.kb, f.t + s.tt));
  h.ef =
      (e.inverse * f.inverse) * (law.bending * sef + (half * moment) * ((two * inverse) * cross_matrix(e.t) - outer(s.kb, s.tt)));
  const Pack ke = half * dot(s.kb, s.ue), kf = half * dot(s.kb, s.uf);
  h.ep = (-law.bending * e.inverse) * (ke * s.tt - inverse * cross(f.t, s.ue));
  h.eq = (-law.bending * e.inverse) * (kf * s.tt - inverse * cross(f.t, s.uf));
  h.fp = (-law.bending * f.inverse) * (ke * s.tt + inverse * cross(e.t, s.ue));
  h.fq = (-law.bending * f.inverse) * (kf * s.tt + inverse * cross(e.t, s.uf));
  h.pp = half * law.bending * dot(s.kb, s.we);
  h.qq = half * law.bending * dot(s.kb, s.wf);
  h.pq = o;
  add_square(h, law.twisting, {(half * e.inverse) * s.kb, (half * f.inverse) * s.kb, -one, one});
  return h;
}

}  // namespace meniscus::solids::hair
