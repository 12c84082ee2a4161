/// Collision of cumulants with 27 velocities: stresses relax with the viscosity, all cumulants of higher order to their
/// equilibrium, 0, at once. It is invariant to the speed of the frame, and stable where one or two relaxation times are not.
///
/// With the higher cumulants gone, what is left is a normal distribution: its raw moments follow from the mean and the covariance
/// by Stein's identity, E[x_i g] = u_i E[g] + sum_j C_ij E[dg/dx_j]. All moments are taken as their difference to those at rest.
///
/// Source: Geier, Schönherr, Pasquali and Krafczyk 2015, Comput. Math. Appl. 70, 507 (rates of one), in the incompressible form
/// of He and Luo: the mass beyond the reference density has the weights of rest.
#pragma once

#include "meniscus/fluids/lattice/collision.hpp"

namespace meniscus::fluids::lattice {

/// Moments E[x^a y^b z^c] less those at rest, for powers up to 2.
template <class P>
struct MomentTable {
  P value[3][3][3];
  MENISCUS_INLINE P& operator()(int a, int b, int c) { return value[a][b][c]; }
};

/// Sets the moments of a normal distribution of mean u and covariance 1/3 + q.
template <class C>
MENISCUS_INLINE void normal_moments(const PackOf<C>* u, const PackOf<C> (&q)[3][3], MomentTable<PackOf<C>>& m) {
  using P = PackOf<C>;
  const C third = C(1.0 / 3.0), ninth = C(1.0 / 9.0), two = C(2.0);
  const P &x = u[0], &y = u[1], &z = u[2];
  m(0, 0, 0) = P{};
  m(1, 0, 0) = x, m(0, 1, 0) = y, m(0, 0, 1) = z;
  m(2, 0, 0) = q[0][0] + x * x, m(0, 2, 0) = q[1][1] + y * y, m(0, 0, 2) = q[2][2] + z * z;
  m(1, 1, 0) = q[0][1] + x * y, m(1, 0, 1) = q[0][2] + x * z, m(0, 1, 1) = q[1][2] + y * z;
  m(1, 1, 1) = x * m(0, 1, 1) + q[0][1] * z + q[0][2] * y;
  // Of a square and a first power: the square has 1/3 at rest.
  m(2, 1, 0) = y * (third + m(2, 0, 0)) + two * q[0][1] * x;
  m(2, 0, 1) = z * (third + m(2, 0, 0)) + two * q[0][2] * x;
  m(1, 2, 0) = x * (third + m(0, 2, 0)) + two * q[0][1] * y;
  m(0, 2, 1) = z * (third + m(0, 2, 0)) + two * q[1][2] * y;
  m(1, 0, 2) = x * (third + m(0, 0, 2)) + two * q[0][2] * z;
  m(0, 1, 2) = y * (third + m(0, 0, 2)) + two * q[1][2] * z;
  m(2, 2, 0) = x * m(1, 2, 0) + third * (m(0, 2, 0) + q[0][0]) + q[0][0] * m(0, 2, 0) + two * q[0][1] * m(1, 1, 0);
  m(2, 0, 2) = x * m(1, 0, 2) + third * (m(0, 0, 2) + q[0][0]) + q[0][0] * m(0, 0, 2) + two * q[0][2] * m(1, 0, 1);
  m(0, 2, 2) = y * m(0, 1, 2) + third * (m(0, 0, 2) + q[1][1]) + q[1][1] * m(0, 0, 2) + two * q[1][2] * m(0, 1, 1);
  m(2, 1, 1) = z * m(2, 1, 0) + two * q[0][2] * m(1, 1, 0) + q[1][2] * (third + m(2, 0, 0));
  m(1, 2, 1) = z * m(1, 2, 0) + two * q[1][2] * m(1, 1, 0) + q[0][2] * (third + m(0, 2, 0));
  m(1, 1, 2) = y * m(1, 0, 2) + two * q[1][2] * m(1, 0, 1) + q[0][1] * (third + m(0, 0, 2));
  m(2, 2, 1) = z * (ninth + m(2, 2, 0)) + two * (q[0][2] * m(1, 2, 0) + q[1][2] * m(2, 1, 0));
  m(2, 1, 2) = y * (ninth + m(2, 0, 2)) + two * (q[0][1] * m(1, 0, 2) + q[1][2] * m(2, 0, 1));
  m(1, 2, 2) = x * (ninth + m(0, 2, 2)) + two * (q[0][1] * m(0, 1, 2) + q[0][2] * m(0, 2, 1));
  m(2, 2, 2) =
      z * m(2, 2, 1) + third * m(2, 2, 0) + q[2][2] * (ninth + m(2, 2, 0)) + two * (q[0][2] * m(1, 2, 1) + q[1][2] * m(2, 1, 1));
}

/// Collides f in place, and returns the squared speed.
template <class L, class C, bool Eddies>
MENISCUS_INLINE PackOf<C> collide_cumulants(PackOf<C>* f, const CollisionNumbers<C>& n) {
  static_assert(L::dimension == 3 && L::directions == 27);
  using P = PackOf<C>;
  P density, u[3];
  sum_moments<L, C>(f, density, u);
  P speed{};
  for (int d = 0; d < 3; ++d) {
    u[d] += C(0.5) * n.force[d];
    speed += u[d] * u[d];
  }
  P q[3][3];
  const P norm = stress_of<L, C>(f, density, u, n.force, q);
  std::conditional_t<Eddies, P, C> kept;
  if constexpr (Eddies) {
    kept = C(1.0) - C(1.0) / (n.tau + (square_root<C>(n.base * n.base + n.eddy * norm) - n.base) * C(0.5));
  } else {
    kept = C(1.0) - n.even;
  }
  const P trace = (q[0][0] + q[1][1] + q[2][2]) * C(1.0 / 3.0);
  for (int a = 0; a < 3; ++a) q[a][a] -= trace;
  for (auto& row : q)
    for (P& x : row) x *= kept;
  for (int d = 0; d < 3; ++d) u[d] += C(0.5) * n.force[d];
  MomentTable<P> m;
  normal_moments<C>(u, q, m);
  // Axis by axis, from powers 0, 1, 2 to speeds 0, 1, -1.
  const auto split = [](P& zero, P& one, P& square) MENISCUS_FORCED {
    const P plus = C(0.5) * (square + one), minus = C(0.5) * (square - one);
    zero -= square;
    one = plus;
    square = minus;
  };
  unroll<9>([&](auto i) MENISCUS_FORCED {
    constexpr int a = i / 3, b = i % 3;
    split(m(0, a, b), m(1, a, b), m(2, a, b));
  });
  unroll<9>([&](auto i) MENISCUS_FORCED {
    constexpr int a = i / 3, b = i % 3;
    split(m(a, 0, b), m(a, 1, b), m(a, 2, b));
  });
  unroll<9>([&](auto i) MENISCUS_FORCED {
    constexpr int a = i / 3, b = i % 3;
    split(m(a, b, 0), m(a, b, 1), m(a, b, 2));
  });
  unroll<27>([&](auto k) MENISCUS_FORCED {
    constexpr auto place = [](int e) { return e < 0 ? 2 : e; };
    f[k] = m(place(L::e[k][0]), place(L::e[k][1]), place(L::e[k][2])) + C(L::weight(k)) * density;
  });
  return speed;
}

}  // namespace meniscus::fluids::lattice
