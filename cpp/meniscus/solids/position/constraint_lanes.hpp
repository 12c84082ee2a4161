/// Projections of sixteen constraints at once: the numbers C and their gradients, and the corrections along these.
///
/// Sources: Müller, Stam, James and Thürey 2008, sections 5.3 and 5.4; Macklin, Müller and Chentanez, "XPBD: position-based
/// simulation of compliant constrained dynamics", 2016 (compliance); Bender, Müller, Otaduy, Teschner and Macklin, "A survey on
/// position-based simulation methods in computer graphics", 2014 (isometric bending).
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/solids/position/constraint_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::solids::detail {

/// A number of each lane.
template <class T>
struct alignas(64) Lane {
  T at[constraint_lanes];
};

/// Positions and inverse masses of the corners.
template <class T, int Corners>
struct CornerLanes {
  Lane<T> x[Corners][3];
  Lane<T> w[Corners];
};

/// What a constraint says: its value, gradient, compliance over dt^2; `active` is 0 where nothing has to be done.
template <class T, int Corners>
struct ProjectionLanes {
  Lane<T> c;
  Lane<T> compliance;
  Lane<T> active;
  /// Of rules that are bounded: see `Bounded`.
  Lane<T> bound;
  Lane<T> gradient[Corners][3];
};

/// What is added to the denominator of a correction: nothing, the bound, or the bound times the sum of the squared gradients.
enum class Bounded : std::int8_t { no, by_length, by_value };

/// What keeps corrections of a constraint c from exceeding a length where its gradient nearly vanishes: with the greatest inverse
/// mass w, w g c / (w g^2 + bound) is at most `length` for any gradient g. Near the solution it vanishes with the square of c.
template <class T>
MENISCUS_INLINE T bound_of(T c, T length, T w) {
  const T part = c / (T(2) * length);
  return w * part * part;
}

template <class T, int Corners, int Values>
MENISCUS_INLINE void load_corners(const ConstraintBlock<T, Corners, Values>& block, const PositionNode<T>* nodes,
                                  CornerLanes<T, Corners>& p) {
  for (int k = 0; k < Corners; ++k)
    for (int l = 0; l < constraint_lanes; ++l) {
      const PositionNode<T>& n = nodes[block.node[k][l]];
      p.x[k][0].at[l] = n.x;
      p.x[k][1].at[l] = n.y;
      p.x[k][2].at[l] = n.z;
      p.w[k].at[l] = n.w;
    }
}

/// Corrections of the corners along the gradients, and the multipliers that belong to them. `share` is the part of each
/// correction that is taken (averaged), and not read otherwise.
template <bool averaged, Bounded bounded, class T, int Corners, int Values>
MENISCUS_INLINE void correct(ConstraintBlock<T, Corners, Values>& block, const ProjectionLanes<T, Corners>& q, T part,
                             const Lane<T>& share, CornerLanes<T, Corners>& p) {
  Lane<T> step;
  for (int l = 0; l < constraint_lanes; ++l) {
    T sum = 0;
    for (int k = 0; k < Corners; ++k)
      sum += p.w[k].at[l] * (q.gradient[k][0].at[l] * q.gradient[k][0].at[l] + q.gradient[k][1].at[l] * q.gradient[k][1].at[l] +
                             q.gradient[k][2].at[l] * q.gradient[k][2].at[l]);
    T below = sum + q.compliance.at[l];
    if constexpr (bounded == Bounded::by_length) below += q.bound.at[l];
    if constexpr (bounded == Bounded::by_value) below += sum * q.bound.at[l];
    const bool works = (sum > 0) & (sum <= std::numeric_limits<T>::max()) & (q.active.at[l] != 0);
    T change = works ? (-q.c.at[l] - q.compliance.at[l] * block.multiplier[l]) / (works ? below : T(1)) : T(0);
    if constexpr (averaged) change *= share.at[l];
    block.multiplier[l] += change;
    step.at[l] = part * change;
  }
  for (int k = 0; k < Corners; ++k)
    for (int d = 0; d < 3; ++d)
      for (int l = 0; l < constraint_lanes; ++l) p.x[k][d].at[l] += step.at[l] * p.w[k].at[l] * q.gradient[k][d].at[l];
}

/// Stores the corners of the first lanes.
template <class T, int Corners, int Values>
MENISCUS_INLINE void store_corners(const ConstraintBlock<T, Corners, Values>& block, const CornerLanes<T, Corners>& p, int lanes,
                                   PositionNode<T>* nodes) {
  const auto write = [&](int n) {
    for (int k = 0; k < Corners; ++k)
      for (int l = 0; l < n; ++l) {
        PositionNode<T>& node = nodes[block.node[k][l]];
        node.x = p.x[k][0].at[l];
        node.y = p.x[k][1].at[l];
        node.z = p.x[k][2].at[l];
      }
  };
  // A number of lanes that the compiler knows becomes wide stores.
  if (lanes == constraint_lanes)
    write(constraint_lanes);
  else
    write(lanes);
}

/// Adds what the corners of the first lanes have moved to sums of the nodes.
template <class T, int Corners, int Values>
MENISCUS_INLINE void add_moves(const ConstraintBlock<T, Corners, Values>& block, const CornerLanes<T, Corners>& before,
                               const CornerLanes<T, Corners>& p, int lanes, Vec<T, 3>* sums) {
  for (int k = 0; k < Corners; ++k)
    for (int l = 0; l < lanes; ++l)
      for (int d = 0; d < 3; ++d) sums[block.node[k][l]][d] += p.x[k][d].at[l] - before.x[k][d].at[l];
}

/// Two nodes keep their distance between two limits (m), equal ones for an equality. Values: lower and upper limit, compliance
/// (m/N) where they are too far from each other, and where they are too close; infinite: nothing happens.
struct DistanceRule {
  static constexpr int corners = 2;
  static constexpr int values = 4;
  static constexpr Bounded bounded = Bounded::no;
  template <class T>
  MENISCUS_INLINE static void evaluate(const ConstraintBlock<T, 2, 4>& block, const CornerLanes<T, 2>& p, T inverse_dt2,
                                       ProjectionLanes<T, 2>& q) {
    for (int l = 0; l < constraint_lanes; ++l) {
      const T x = p.x[0][0].at[l] - p.x[1][0].at[l];
      const T y = p.x[0][1].at[l] - p.x[1][1].at[l];
      const T z = p.x[0][2].at[l] - p.x[1][2].at[l];
      const T length = std::sqrt(x * x + y * y + z * z);
      const T low = block.value[0][l], high = block.value[1][l];
      const bool far = length > high, close = length < low;
      q.c.at[l] = far ? length - high : close ? length - low : T(0);
      const T compliance = (close ? block.value[3][l] : block.value[2][l]) * inverse_dt2;
      // Without compliance, a constraint that holds has nothing to do; with compliance, its multiplier may have to fall.
      const bool works = (length > 0) & (compliance < std::numeric_limits<T>::max()) & (far | close | (low == high));
      q.active.at[l] = works ? T(1) : T(0);
      q.compliance.at[l] = works ? compliance : T(0);
      const T inverse = T(1) / (length > 0 ? length : T(1));
      q.gradient[0][0].at[l] = x * inverse;
      q.gradient[0][1].at[l] = y * inverse;
      q.gradient[0][2].at[l] = z * inverse;
      for (int d = 0; d < 3; ++d) q.gradient[1][d].at[l] = -q.gradient[0][d].at[l];
    }
  }
};

/// Isometric bending: C = |sum k_i x_i|^2 / 2 - C at rest. Values: the four k (1/m), C at rest, compliance.
struct IsometricBendingRule {
  static constexpr int corners = 4;
  static constexpr int values = 6;
  static constexpr Bounded bounded = Bounded::by_length;
  template <class T>
  MENISCUS_INLINE static void evaluate(const ConstraintBlock<T, 4, 6>& block, const CornerLanes<T, 4>& p, T inverse_dt2,
                                       ProjectionLanes<T, 4>& q) {
    for (int l = 0; l < constraint_lanes; ++l) {
      T s[3];
      for (int d = 0; d < 3; ++d)
        s[d] = (block.value[0][l] * p.x[0][d].at[l] + block.value[1][l] * p.x[1][d].at[l]) +
               (block.value[2][l] * p.x[2][d].at[l] + block.value[3][l] * p.x[3][d].at[l]);
      q.c.at[l] = T(0.5) * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) - block.value[4][l];
      q.compliance.at[l] = block.value[5][l] * inverse_dt2;
      q.active.at[l] = T(1);
      // Of a fold that is flatter than at rest; the length is that of the vector at rest, as the sum of k times the nodes moves.
      const T rest = block.value[4][l];
      T moves = 0;
      for (int k = 0; k < 4; ++k) moves += p.w[k].at[l] * block.value[k][l] * block.value[k][l];
      q.bound.at[l] = q.c.at[l] < 0 ? bound_of(q.c.at[l], std::sqrt(T(2) * rest), moves) : T(0);
      for (int k = 0; k < 4; ++k)
        for (int d = 0; d < 3; ++d) q.gradient[k][d].at[l] = block.value[k][l] * s[d];
    }
  }
};

/// The signed volume of a tetrahedron over its size at rest to the power of 2/3. Values: volume at rest (m^3), the factor
/// (1/m^2), compliance. Corrections of flat tetrahedra are at most the length whose square is 1 over the factor.
struct TetVolumeRule {
  static constexpr int corners = 4;
  static constexpr int values = 3;
  static constexpr Bounded bounded = Bounded::by_length;
  template <class T>
  MENISCUS_INLINE static void evaluate(const ConstraintBlock<T, 4, 3>& block, const CornerLanes<T, 4>& p, T inverse_dt2,
                                       ProjectionLanes<T, 4>& q) {
    for (int l = 0; l < constraint_lanes; ++l) {
      T e[3][3];
      for (int k = 0; k < 3; ++k)
        for (int d = 0; d < 3; ++d) e[k][d] = p.x[k + 1][d].at[l] - p.x[0][d].at[l];
      const T f = block.value[1][l] / T(6);
      T g[3][3];
      for (int k = 0; k < 3; ++k) {
        const T* const a = e[(k + 1) % 3];
        const T* const b = e[(k + 2) % 3];
        g[k][0] = f * (a[1] * b[2] - a[2] * b[1]);
        g[k][1] = f * (a[2] * b[0] - a[0] * b[2]);
        g[k][2] = f * (a[0] * b[1] - a[1] * b[0]);
      }
      q.c.at[l] = e[0][0] * g[0][0] + e[0][1] * g[0][1] + e[0][2] * g[0][2] - block.value[1][l] * block.value[0][l];
      q.compliance.at[l] = block.value[2][l] * inverse_dt2;
      q.active.at[l] = T(1);
      const T lightest = std::max(std::max(p.w[0].at[l], p.w[1].at[l]), std::max(p.w[2].at[l], p.w[3].at[l]));
      q.bound.at[l] = bound_of(q.c.at[l] * std::sqrt(block.value[1][l]), T(1), lightest);
      for (int d = 0; d < 3; ++d) {
        for (int k = 0; k < 3; ++k) q.gradient[k + 1][d].at[l] = g[k][d];
        q.gradient[0][d].at[l] = -(g[0][d] + g[1][d] + g[2][d]);
      }
    }
  }
};

}  // namespace meniscus::solids::detail
