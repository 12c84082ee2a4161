/// Angles between two triangles at an edge as constraints: signed, and as printed.
///
/// Sources: Müller, Stam, James and Thürey 2008, section 5.4.2 (printed; its gradients by Müller, Heidelberger, Hennix and
/// Ratcliff, "Position based dynamics", 2006); Bridson, Marino and Fedkiw, "Simulation of clothing with folds and wrinkles", 2003
/// (gradients of the signed angle).
#pragma once

#include "meniscus/solids/position/constraint_lanes.hpp"

namespace meniscus::solids::detail {

template <class T>
struct Lane3 {
  T x, y, z;
  MENISCUS_INLINE friend Lane3 operator-(const Lane3& a, const Lane3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  MENISCUS_INLINE friend Lane3 operator+(const Lane3& a, const Lane3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  MENISCUS_INLINE friend Lane3 operator*(T s, const Lane3& a) { return {s * a.x, s * a.y, s * a.z}; }
  MENISCUS_INLINE friend T dot(const Lane3& a, const Lane3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
  MENISCUS_INLINE friend Lane3 cross(const Lane3& a, const Lane3& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
  }
};

template <class T>
MENISCUS_INLINE Lane3<T> corner(const CornerLanes<T, 4>& p, int k, int l) {
  return {p.x[k][0].at[l], p.x[k][1].at[l], p.x[k][2].at[l]};
}

template <class T>
MENISCUS_INLINE void set_gradient(ProjectionLanes<T, 4>& q, int k, int l, const Lane3<T>& g) {
  q.gradient[k][0].at[l] = g.x;
  q.gradient[k][1].at[l] = g.y;
  q.gradient[k][2].at[l] = g.z;
}

/// Triangles and edges thinner than the root of this, relative to the fold, have no angle whose gradient could be used.
template <class T>
inline constexpr T thin = static_cast<T>(1e-12);

/// Most of an angle (rad) that one correction takes: nodes move on tangents of their circles, which would end far outside.
template <class T>
inline constexpr T most_turn = static_cast<T>(0.7);

template <class T>
inline constexpr T pi_of = static_cast<T>(3.14159265358979323846);

/// The signed angle by which triangle (1, 0, 3) is folded against triangle (0, 1, 2), positive where 3 is on the side of the
/// normal of the first; differences of angles are taken the short way round.
struct DihedralAngleRule {
  static constexpr int corners = 4;
  static constexpr int values = 2;
  static constexpr Bounded bounded = Bounded::by_value;
  template <class T>
  MENISCUS_INLINE static void evaluate(const ConstraintBlock<T, 4, 2>& block, const CornerLanes<T, 4>& p, T inverse_dt2,
                                       ProjectionLanes<T, 4>& q) {
    for (int l = 0; l < constraint_lanes; ++l) {
      const Lane3<T> a = corner(p, 0, l), b = corner(p, 1, l), c = corner(p, 2, l), d = corner(p, 3, l);
      const Lane3<T> e = b - a;
      const Lane3<T> n1 = cross(e, c - a), n2 = cross(d - a, e);
      const T e2 = dot(e, e), length = std::sqrt(e2);
      const T s1 = dot(n1, n1), s2 = dot(n2, n2);
      const T size = e2 + dot(c - a, c - a) + dot(d - a, d - a), least = thin<T> * size * size;
      const bool sound = (s1 > least) & (s2 > least) & (e2 > thin<T> * size);
      const T sine = length * dot(n1, d - a), cosine = dot(n1, n2);
      T difference = std::atan2(sine, cosine) - block.value[0][l];
      difference = difference > pi_of<T>    ? difference - 2 * pi_of<T>
                   : difference < -pi_of<T> ? difference + 2 * pi_of<T>
                                            : difference;
      q.c.at[l] = difference;
      q.bound.at[l] = bound_of(difference, most_turn<T>, T(1));
      q.compliance.at[l] = block.value[1][l] * inverse_dt2;
      q.active.at[l] = sound ? T(1) : T(0);
      const T i1 = length / (sound ? s1 : T(1)), i2 = length / (sound ? s2 : T(1)), ie = T(1) / (sound ? e2 : T(1));
      const Lane3<T> g2 = i1 * n1, g3 = i2 * n2;
      const T tc = dot(c - a, e) * ie, td = dot(d - a, e) * ie;
      set_gradient(q, 2, l, g2);
      set_gradient(q, 3, l, g3);
      set_gradient(q, 0, l, T(-1) * ((T(1) - tc) * g2 + (T(1) - td) * g3));
      set_gradient(q, 1, l, T(-1) * (tc * g2 + td * g3));
    }
  }
};

/// As printed: acos(n1 . n2) of triangles (0, 1, 2) and (0, 1, 3), pi for a flat sheet, where its gradient does not exist; there
/// nothing happens. It cannot tell on which side a sheet is folded.
struct PrintedAngleRule {
  static constexpr int corners = 4;
  static constexpr int values = 2;
  static constexpr Bounded bounded = Bounded::by_value;
  template <class T>
  MENISCUS_INLINE static void evaluate(const ConstraintBlock<T, 4, 2>& block, const CornerLanes<T, 4>& p, T inverse_dt2,
                                       ProjectionLanes<T, 4>& q) {
    for (int l = 0; l < constraint_lanes; ++l) {
      const Lane3<T> o = corner(p, 0, l);
      const Lane3<T> p2 = corner(p, 1, l) - o, p3 = corner(p, 2, l) - o, p4 = corner(p, 3, l) - o;
      const Lane3<T> c1 = cross(p2, p3), c2 = cross(p2, p4);
      const T s1 = dot(c1, c1), s2 = dot(c2, c2), l1 = std::sqrt(s1), l2 = std::sqrt(s2);
      const T size = dot(p2, p2) + dot(p3, p3) + dot(p4, p4), least = thin<T> * size * size;
      const bool sound = (s1 > least) & (s2 > least);
      const T i1 = T(1) / (sound ? l1 : T(1)), i2 = T(1) / (sound ? l2 : T(1));
      const Lane3<T> n1 = i1 * c1, n2 = i2 * c2;
      const T d = std::min(std::max(dot(n1, n2), T(-1)), T(1));
      const T sine2 = T(1) - d * d;
      const bool works = sound & (sine2 > std::numeric_limits<T>::epsilon());
      const T factor = T(1) / std::sqrt(works ? sine2 : T(1));
      q.c.at[l] = std::acos(d) - block.value[0][l];
      q.bound.at[l] = bound_of(q.c.at[l], most_turn<T>, T(1));
      q.compliance.at[l] = block.value[1][l] * inverse_dt2;
      q.active.at[l] = works ? T(1) : T(0);
      // Minus the derivatives of d; the angle grows along them.
      const Lane3<T> q3 = i1 * (cross(p2, n2) + d * cross(n1, p2));
      const Lane3<T> q4 = i2 * (cross(p2, n1) + d * cross(n2, p2));
      const Lane3<T> q2 = T(-1) * (i1 * (cross(p3, n2) + d * cross(n1, p3)) + i2 * (cross(p4, n1) + d * cross(n2, p4)));
      set_gradient(q, 1, l, factor * q2);
      set_gradient(q, 2, l, factor * q3);
      set_gradient(q, 3, l, factor * q4);
      set_gradient(q, 0, l, T(-1) * factor * (q2 + q3 + q4));
    }
  }
};

}  // namespace meniscus::solids::detail
