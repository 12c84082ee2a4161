/// Stable neo-Hookean tetrahedra as two constraints each, which are projected together:
///   C_d = sqrt(I - log(I + 1)) with I = |F|^2 and compliance 1 / (m V),
///   C_h = det F - 1 - m / l + m / (4 l) with compliance 1 / (l V),
/// so that C_d^2 / 2 and C_h^2 / 2 over their compliances sum up to the energy of the finite elements, m = 4/3 of the shear
/// modulus and l = Lame's first parameter plus 5/6 of it. A solve for both multipliers at once has the shape at rest as its fixed
/// point, whereas one after the other needs many iterations to hold even that.
///
/// Sources: Smith, de Goes and Kim, "Stable neo-Hookean flesh simulation", 2018; Macklin and Müller, "A constraint-based
/// formulation of stable neo-Hookean materials", 2021 (two constraints, without the logarithm: such elements stay small once they
/// are).
#pragma once

#include "meniscus/solids/position/hinge_lanes.hpp"

namespace meniscus::solids::detail {

/// Values: columns of the inverse of the edges at rest (1/m, entry r c at 3 r + c), compliance of C_d (1/J), of C_h (1/J), det F
/// at which C_h is 0; and the second multiplier.
struct NeoHookeanRule {
  static constexpr int corners = 4;
  static constexpr int values = 12;
  static constexpr int stored = 13;

  /// Both constraints, without multipliers.
  template <class T>
  MENISCUS_INLINE static void evaluate(const ConstraintBlock<T, 4, stored>& block, const CornerLanes<T, 4>& p, T inverse_dt2,
                                       ProjectionLanes<T, 4>& deviatoric, ProjectionLanes<T, 4>& hydrostatic) {
    for (int l = 0; l < constraint_lanes; ++l) {
      const Lane3<T> o = corner(p, 0, l);
      const Lane3<T> e[3] = {corner(p, 1, l) - o, corner(p, 2, l) - o, corner(p, 3, l) - o};
      const auto b = [&](int r, int c) { return block.value[3 * r + c][l]; };
      // Columns of F.
      const Lane3<T> f0 = b(0, 0) * e[0] + b(1, 0) * e[1] + b(2, 0) * e[2];
      const Lane3<T> f1 = b(0, 1) * e[0] + b(1, 1) * e[1] + b(2, 1) * e[2];
      const Lane3<T> f2 = b(0, 2) * e[0] + b(1, 2) * e[1] + b(2, 2) * e[2];
      const T square = dot(f0, f0) + dot(f1, f1) + dot(f2, f2);
      // Near 0 a series: the difference has no digits.
      const T energy = square < T(1e-2) ? square * square * (T(0.5) - square * (T(1) / 3 - square * (T(0.25) - square * T(0.2))))
                                        : square - std::log1p(square);
      const T value = std::sqrt(energy);
      const T slope = square > 0 ? square / ((square + 1) * value) : T(0);
      const Lane3<T> h0 = cross(f1, f2), h1 = cross(f2, f0), h2 = cross(f0, f1);
      deviatoric.c.at[l] = value;
      deviatoric.compliance.at[l] = block.value[9][l] * inverse_dt2;
      hydrostatic.c.at[l] = dot(f0, h0) - block.value[11][l];
      hydrostatic.compliance.at[l] = block.value[10][l] * inverse_dt2;
      deviatoric.active.at[l] = hydrostatic.active.at[l] = T(1);
      Lane3<T> gd[3], gh[3];
      for (int k = 0; k < 3; ++k) {
        gd[k] = slope * (b(k, 0) * f0 + b(k, 1) * f1 + b(k, 2) * f2);
        gh[k] = b(k, 0) * h0 + b(k, 1) * h1 + b(k, 2) * h2;
        set_gradient(deviatoric, k + 1, l, gd[k]);
        set_gradient(hydrostatic, k + 1, l, gh[k]);
      }
      set_gradient(deviatoric, 0, l, T(-1) * (gd[0] + gd[1] + gd[2]));
      set_gradient(hydrostatic, 0, l, T(-1) * (gh[0] + gh[1] + gh[2]));
    }
  }

  template <bool averaged, class T>
  MENISCUS_INLINE static void correct(ConstraintBlock<T, 4, stored>& block, T inverse_dt2, T part, const Lane<T>& share,
                                      CornerLanes<T, 4>& p) {
    ProjectionLanes<T, 4> d, h;
    evaluate(block, p, inverse_dt2, d, h);
    Lane<T> first, second;
    for (int l = 0; l < constraint_lanes; ++l) {
      T dd = 0, hh = 0, dh = 0;
      for (int k = 0; k < 4; ++k)
        for (int i = 0; i < 3; ++i) {
          const T gd = d.gradient[k][i].at[l], gh = h.gradient[k][i].at[l], w = p.w[k].at[l];
          dd += w * gd * gd;
          hh += w * gh * gh;
          dh += w * gd * gh;
        }
      const T a = d.compliance.at[l], b = h.compliance.at[l];
      const T rd = -d.c.at[l] - a * block.multiplier[l], rh = -h.c.at[l] - b * block.value[12][l];
      dd += a;
      hh += b;
      const T determinant = dd * hh - dh * dh;
      const bool works = (dd + hh > a + b) & (determinant > 0);
      const T inverse = works ? T(1) / (works ? determinant : T(1)) : T(0);
      T x = (hh * rd - dh * rh) * inverse, y = (dd * rh - dh * rd) * inverse;
      if constexpr (averaged) {
        x *= share.at[l];
        y *= share.at[l];
      }
      block.multiplier[l] += x;
      block.value[12][l] += y;
      first.at[l] = part * x;
      second.at[l] = part * y;
    }
    for (int k = 0; k < 4; ++k)
      for (int i = 0; i < 3; ++i)
        for (int l = 0; l < constraint_lanes; ++l)
          p.x[k][i].at[l] += p.w[k].at[l] * (first.at[l] * d.gradient[k][i].at[l] + second.at[l] * h.gradient[k][i].at[l]);
  }
};

}  // namespace meniscus::solids::detail
