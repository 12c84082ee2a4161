/// Stable neo-Hookean tetrahedra, with the energy of the finite elements
///   m / 2 (I - log(I + 1)) + l / 2 (J - j)^2, I = |F|^2, J = det F, j = 1 + m / l - m / (4 l),
/// m = 4/3 of the shear modulus, l = Lame's first parameter plus 5/6 of it. Each element keeps the forces it exerts, as
/// constraints with a compliance keep their multipliers.
///
/// Sources: Smith, de Goes and Kim, "Stable neo-Hookean flesh simulation", 2018 (energy); Macklin and Müller, "A constraint-based
/// formulation of stable neo-Hookean materials", 2021 (the energy as two constraints, whose projections are replaced here).
#pragma once

#include "meniscus/solids/position/hinge_lanes.hpp"

namespace meniscus::solids::detail {

/// Values: columns of the inverse of the edges at rest (1/m, entry r c at 3 r + c), 1 / (m V), 1 / (l V) (1/J), j; and the forces
/// on the four corners (N).
struct NeoHookeanRule {
  static constexpr int corners = 4;
  static constexpr int values = 12;
  static constexpr int stored = 24;

  /// One step of Newton's method for the end of a step of implicit Euler of this element alone, from where the others have left
  /// its corners: (M / dt^2 + K) dx = -gradient of the energy - t, with t the forces that it has exerted so far. In components of
  /// F, K is l h h^T, h the gradient of J, and a number that bounds the rest of the Hessian: m (1 - 1 / (I + 1)), 2 m I / (I +
  /// 1)^2 of its other product of gradients, and l |J - j| |F| of the second derivatives of J. Projections of sqrt(I - log(I +
  /// 1)) and J - j as two rows have no such K: their gradients are parallel at rest, so that all stiffness against shear lies in
  /// the change of their directions, which is explicit: steps that are long for an element blow up.
  template <bool averaged, class T>
  MENISCUS_INLINE static void correct(ConstraintBlock<T, 4, stored>& block, T inverse_dt2, T part, const Lane<T>& share,
                                      CornerLanes<T, 4>& p) {
    for (int l = 0; l < constraint_lanes; ++l) {
      const Lane3<T> o = corner(p, 0, l);
      const Lane3<T> e[3] = {corner(p, 1, l) - o, corner(p, 2, l) - o, corner(p, 3, l) - o};
      // Gradients of the shape functions at rest.
      T b[4][3];
      for (int c = 0; c < 3; ++c) {
        for (int k = 0; k < 3; ++k) b[k + 1][c] = block.value[3 * k + c][l];
        b[0][c] = -(b[1][c] + b[2][c] + b[3][c]);
      }
      const Lane3<T> f0 = b[1][0] * e[0] + b[2][0] * e[1] + b[3][0] * e[2];
      const Lane3<T> f1 = b[1][1] * e[0] + b[2][1] * e[1] + b[3][1] * e[2];
      const Lane3<T> f2 = b[1][2] * e[0] + b[2][2] * e[1] + b[3][2] * e[2];
      const T square = dot(f0, f0) + dot(f1, f1) + dot(f2, f2);
      const Lane3<T> h0 = cross(f1, f2), h1 = cross(f2, f0), h2 = cross(f0, f1);
      // Times the volume at rest.
      const T m = T(1) / block.value[9][l], bulk = T(1) / block.value[10][l];
      const T excess = dot(f0, h0) - block.value[11][l], inverse = T(1) / (square + T(1));
      const T shear = m * square * inverse, pressure = bulk * excess;
      const T each = shear + std::abs(pressure) * std::sqrt(square) + T(2) * m * square * inverse * inverse;
      // A = 1 / dt^2 + W^1/2 K W^1/2 without h h^T, the same for each coordinate; q = W^1/2 times the gradient of det F, r =
      // W^1/2 times the forces that are missing.
      T root[4], a[4][4], q[4][3], r[4][3];
      for (int k = 0; k < 4; ++k) {
        root[k] = std::sqrt(p.w[k].at[l]);
        const Lane3<T> gh = b[k][0] * h0 + b[k][1] * h1 + b[k][2] * h2;
        const Lane3<T> gf = b[k][0] * f0 + b[k][1] * f1 + b[k][2] * f2;
        const Lane3<T> gradient = shear * gf + pressure * gh;
        const T own[3] = {gradient.x, gradient.y, gradient.z}, to[3] = {gh.x, gh.y, gh.z};
        for (int d = 0; d < 3; ++d) {
          r[k][d] = root[k] * (-own[d] - block.value[values + 3 * k + d][l]);
          q[k][d] = root[k] * to[d];
        }
        for (int j = 0; j <= k; ++j)
          a[k][j] = each * root[k] * root[j] * (b[k][0] * b[j][0] + b[k][1] * b[j][1] + b[k][2] * b[j][2]);
        a[k][k] += inverse_dt2;
      }
      // A = L D L^T, L D in place of A; pivots are at least 1 / dt^2 but for round-off.
      T over[4];
      for (int k = 0; k < 4; ++k) {
        T pivot = a[k][k];
        for (int j = 0; j < k; ++j) {
          for (int i = 0; i < j; ++i) a[k][j] -= a[k][i] * a[j][i] * over[i];
          pivot -= a[k][j] * a[k][j] * over[j];
        }
        over[k] = T(1) / std::max(pivot, inverse_dt2);
      }
      T z[4][3], s[4][3];
      solve(a, over, r, s);
      solve(a, over, q, z);
      // With l h h^T: Sherman and Morrison.
      T along = 0, size = 0;
      for (int k = 0; k < 4; ++k)
        for (int d = 0; d < 3; ++d) {
          along += q[k][d] * s[k][d];
          size += q[k][d] * z[k][d];
        }
      const T change = along * bulk / (T(1) + bulk * size);
      // Elements so large that their numbers overflow stay as they are.
      const bool works = (change - change == T(0)) & (inverse_dt2 > 0);
      // The moves of free corners keep their centre but for the round-off of the solution, which grows with the stiffness.
      const bool free = (root[0] > 0) & (root[1] > 0) & (root[2] > 0) & (root[3] > 0);
      T over_root[4], mass = 0;
      for (int k = 0; k < 4; ++k) {
        over_root[k] = root[k] > 0 ? T(1) / root[k] : T(0);
        mass += over_root[k] * over_root[k];
      }
      for (int d = 0; d < 3; ++d) {
        T moves[4], shift = 0;
        for (int k = 0; k < 4; ++k) {
          moves[k] = works ? root[k] * (s[k][d] - change * z[k][d]) : T(0);
          if constexpr (averaged) moves[k] *= share.at[l];
          shift += over_root[k] * over_root[k] * moves[k];
        }
        shift = free ? shift / mass : T(0);
        for (int k = 0; k < 4; ++k) {
          const T move = moves[k] - shift;
          p.x[k][d].at[l] += part * move;
          block.value[values + 3 * k + d][l] += inverse_dt2 * (over_root[k] * over_root[k]) * move;
        }
      }
    }
  }

 private:
  /// Solves A x = y for each coordinate, with the rows of L D and one over D.
  template <class T>
  MENISCUS_INLINE static void solve(const T (&a)[4][4], const T (&over)[4], const T (&y)[4][3], T (&x)[4][3]) {
    for (int d = 0; d < 3; ++d) {
      for (int k = 0; k < 4; ++k) {
        T sum = y[k][d];
        for (int i = 0; i < k; ++i) sum -= a[k][i] * x[i][d];
        x[k][d] = sum * over[k];
      }
      for (int k = 2; k >= 0; --k)
        for (int i = k + 1; i < 4; ++i) x[k][d] -= a[i][k] * over[k] * x[i][d];
    }
  }
};

}  // namespace meniscus::solids::detail
