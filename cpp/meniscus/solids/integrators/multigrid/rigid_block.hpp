/// Numbers of the levels of `VelocityMultigrid`: a node moves in three coordinates, a group of nodes as a rigid body in six, its
/// velocity and its angular velocity times a length; both fill up a register (included by kernels only).
#pragma once

#include "meniscus/numerics/lane_pack.hpp"
#include "meniscus/solids/force.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

namespace meniscus::solids {

/// Three numbers and one of no meaning.
using Single = float __attribute__((vector_size(16)));
/// A 3 x 3 block, column by column.
using Block = std::array<Single, 3>;

/// Velocity, angular velocity, and two numbers of no meaning.
using Wide = float __attribute__((vector_size(32)));
/// A 6 x 6 block, column by column, and sums of such blocks.
using WideBlock = std::array<Wide, 6>;
using WideSum = std::array<numerics::Pack, 6>;

MENISCUS_INLINE Single rounded(const mesh::Point& p) {
  return Single{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]), 0.0F};
}
MENISCUS_INLINE mesh::Point exact(const Single& s) { return {double{s[0]}, double{s[1]}, double{s[2]}}; }
MENISCUS_INLINE Block rounded(const Block3& m) {
  return {rounded(mesh::Point(m.col(0))), rounded(mesh::Point(m.col(1))), rounded(mesh::Point(m.col(2)))};
}
MENISCUS_INLINE Wide rounded(const numerics::Pack& p) { return __builtin_convertvector(p, Wide); }
MENISCUS_INLINE numerics::Pack exact(const Wide& w) { return __builtin_convertvector(w, numerics::Pack); }
MENISCUS_INLINE numerics::Pack joined(const mesh::Point& a, const mesh::Point& b) {
  return numerics::Pack{a[0], a[1], a[2], b[0], b[1], b[2], 0.0, 0.0};
}

MENISCUS_INLINE Single times(const Block& m, const Single& v) { return m[0] * v[0] + m[1] * v[1] + m[2] * v[2]; }
MENISCUS_INLINE Wide times(const WideBlock& m, const Wide& v) {
  return ((m[0] * v[0] + m[1] * v[1]) + (m[2] * v[2] + m[3] * v[3])) + (m[4] * v[4] + m[5] * v[5]);
}

MENISCUS_INLINE Single cross(const Single& a, const Single& b) {
  const Single c = a * __builtin_shufflevector(b, b, 1, 2, 0, 3) - __builtin_shufflevector(a, a, 1, 2, 0, 3) * b;
  return __builtin_shufflevector(c, c, 1, 2, 0, 3);
}

/// What a spring does: (w w^T + across I) v for w and `across` in a register.
MENISCUS_INLINE Single pull(const Single& spring, const Single& v) {
  const Single p = spring * v;
  return spring * (p[0] + p[1] + p[2]) + spring[3] * v;
}

/// The velocity at an offset within a group that moves by `m`.
MENISCUS_INLINE Single velocity_at(const Wide& m, const Single& offset) {
  return Single{m[0], m[1], m[2], 0.0F} + cross(Single{m[3], m[4], m[5], 0.0F}, offset);
}
/// Force and torque of a force at an offset.
MENISCUS_INLINE Wide wrench_of(const Single& force, const Single& offset) {
  const Single torque = cross(offset, force);
  return Wide{force[0], force[1], force[2], torque[0], torque[1], torque[2], 0.0F, 0.0F};
}
/// The motion of a group at an offset within one that moves by `m`, and the wrench on this of one there.
MENISCUS_INLINE Wide motion_at(const Wide& m, const Single& offset) {
  const Single turned = cross(Single{m[3], m[4], m[5], 0.0F}, offset);
  return m + Wide{turned[0], turned[1], turned[2], 0.0F, 0.0F, 0.0F, 0.0F, 0.0F};
}
MENISCUS_INLINE Wide moved_wrench(const Wide& f, const Single& offset) {
  const Single torque = cross(offset, Single{f[0], f[1], f[2], 0.0F});
  return f + Wide{0.0F, 0.0F, 0.0F, torque[0], torque[1], torque[2], 0.0F, 0.0F};
}

/// Symmetric inverse within a projection; the identity in place of one of a block that is not definite.
inline Block3 inverse_within(const Block3& a, const Block3& p) {
  const Block3 whole = p * a * p + (Block3::Identity() - p);
  const Eigen::LLT<Block3> factor(whole);
  Block3 inverse = Block3::Identity();
  if (factor.info() == Eigen::Success) inverse = factor.solve(Block3::Identity());
  if (!inverse.allFinite()) inverse.setIdentity();
  return p * (0.5 * (inverse + inverse.transpose())) * p;
}

/// The same without a projection, by cofactors where these tell that the block is definite.
inline Block3 inverse_of(const Block3& a) {
  const double xx = a(1, 1) * a(2, 2) - a(1, 2) * a(1, 2), xy = a(0, 2) * a(1, 2) - a(0, 1) * a(2, 2);
  const double xz = a(0, 1) * a(1, 2) - a(0, 2) * a(1, 1), yy = a(0, 0) * a(2, 2) - a(0, 2) * a(0, 2);
  const double yz = a(0, 1) * a(0, 2) - a(0, 0) * a(1, 2), zz = a(0, 0) * a(1, 1) - a(0, 1) * a(0, 1);
  const double size = a(0, 0) * a(1, 1) * a(2, 2), whole = a(0, 0) * xx + a(0, 1) * xy + a(0, 2) * xz;
  // Cofactors have lost digits where the determinant is far smaller than the product of the diagonal.
  if (!(a(0, 0) > 0 && zz > 0 && whole > 1e-9 * size) || !std::isfinite(size)) return inverse_within(a, Block3::Identity());
  Block3 inverse;
  inverse << xx, xy, xz, xy, yy, yz, xz, yz, zz;
  return inverse / whole;
}

/// The inverse of a symmetric block without the coordinates in which it has next to nothing beside those before them, such as
/// the turn of two nodes about the line between them: these stay at rest. Positive semidefinite whatever the block is.
MENISCUS_INLINE WideBlock inverse_of(const WideSum& a) {
  constexpr double least = 1e-6;
  double l[6][6], inverse[6][6];
  bool used[6];
  for (int k = 0; k < 6; ++k) {
    double pivot = a[k][k];
    for (int j = 0; j < k; ++j) pivot -= l[k][j] * l[k][j];
    used[k] = pivot > least * a[k][k] && std::isfinite(pivot);
    const double scale = used[k] ? 1 / std::sqrt(pivot) : 0.0;
    l[k][k] = scale;
    for (int i = k + 1; i < 6; ++i) {
      double sum = a[k][i];
      for (int j = 0; j < k; ++j) sum -= l[i][j] * l[k][j];
      l[i][k] = used[k] ? scale * sum : 0.0;
    }
  }
  // The inverse of the factor, whose diagonal is stored inverted.
  for (int c = 0; c < 6; ++c)
    for (int i = 0; i < 6; ++i) {
      double sum = i == c ? 1.0 : 0.0;
      for (int j = c; j < i; ++j) sum -= l[i][j] * inverse[j][c];
      inverse[i][c] = i < c ? 0.0 : l[i][i] * sum;
    }
  WideBlock out{};
  for (int c = 0; c < 6; ++c)
    for (int i = 0; i < 6; ++i) {
      double sum = 0;
      for (int k = std::max(i, c); k < 6; ++k) sum += inverse[k][i] * inverse[k][c];
      out[c][i] = static_cast<float>(sum);
    }
  return out;
}

}  // namespace meniscus::solids
