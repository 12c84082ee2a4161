#include "meniscus/solids/rigid/rigid_motion.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/rotation.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

using Vector3 = Vec<double, 3>;
using RowMatrix3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

// Of the fixed-point iteration for the orientation in the middle of a step, which converges by a factor of at most dt |L| / 2
// times the largest inverse moment of inertia each.
constexpr int most_iterations = 12;
constexpr double settled = 1e-15;
/// Bodies for which that factor is larger, thin ones, need Newton's method.
constexpr double most_contraction = 0.25;
constexpr int most_newton = 40;
/// rad: steps in which a body turns further are taken in parts, as many as that.
constexpr double longest_turn = 0.25;
constexpr double most_parts = 4096;

/// The orientation after turning about a vector (rad).
Eigen::Quaterniond turned(const Eigen::Quaterniond& q, const Vector3& turn) {
  const double angle = turn.norm();
  // sin(a / 2) / a, in series where the quotient would lose digits.
  const double part = angle < 1e-4 ? 0.5 - angle * angle / 48 : std::sin(0.5 * angle) / angle;
  Eigen::Quaterniond d;
  d.w() = std::cos(0.5 * angle);
  d.vec() = part * turn;
  return (d * q).normalized();
}

Eigen::Matrix3d cross_matrix(const Vector3& v) {
  Eigen::Matrix3d m;
  m << 0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0;
  return m;
}

/// The angular velocity W in axes of the body with J W = exp(-h W) l, for the angular momentum l at the start: the equation of
/// the middle of the step, by Newton's method, whose matrix is that of J and a skew one. Halves ways on which the error does not
/// fall.
bool newton_middle(const Eigen::Matrix3d& inertia, const Vector3& l, double h, Vector3& w) {
  const auto carried = [&](const Vector3& x) -> Vector3 { return turned(Eigen::Quaterniond::Identity(), -h * x) * l; };
  const double scale = l.norm();
  Vector3 there = carried(w), error = inertia * w - there;
  for (int i = 0; i < most_newton; ++i) {
    const double size = error.norm();
    if (size <= 4 * settled * scale) return true;
    // Of exp(-h W), to second order in the turn, which is small.
    const Eigen::Matrix3d k = cross_matrix(-h * w);
    const Eigen::Matrix3d slope = Eigen::Matrix3d::Identity() + 0.5 * k + (1.0 / 6) * k * k;
    const Vector3 way = -(inertia - h * cross_matrix(there) * slope).partialPivLu().solve(error);
    double part = 1;
    Vector3 next, moved, left;
    for (; part > 1e-4; part *= 0.5) {
      next = w + part * way;
      moved = carried(next);
      left = inertia * next - moved;
      if (left.norm() < size) break;
    }
    // The last digits: nothing falls any further.
    if (!(left.norm() < size)) return size <= 1e-12 * scale;
    w = next, there = moved, error = left;
  }
  return error.norm() <= 1e-12 * scale;
}

/// The angular velocity in the middle of a step of dt seconds, for the angular momentum there.
Vector3 middle_velocity(const RigidInertia& inertia, const Eigen::Quaterniond& q, const Vector3& middle, double dt) {
  Vector3 omega = angular_velocity(inertia, q, middle);
  if (0.5 * std::abs(dt) * middle.norm() * inertia.inverse_inertia.norm() > most_contraction) {
    Vector3 own = q.conjugate() * omega;
    if (newton_middle(inertia.inverse_inertia.inverse(), q.conjugate() * middle, 0.5 * dt, own)) return q * own;
  }
  for (int i = 0; i < most_iterations; ++i) {
    const Vector3 next = angular_velocity(inertia, turned(q, (0.5 * dt) * omega), middle);
    const bool done = (next - omega).norm() <= settled * next.norm();
    omega = next;
    if (done) break;
  }
  return omega;
}

void step_midpoint(RigidState& s, const RigidInertia& inertia, const Vector3& force, const Vector3& torque, double dt) {
  s.position += (dt * inertia.inverse_mass) * (s.momentum + (0.5 * dt) * force);
  s.momentum += dt * force;
  const Eigen::Quaterniond q = s.orientation();
  const Vector3 omega = middle_velocity(inertia, q, s.angular_momentum + (0.5 * dt) * torque, dt);
  const Eigen::Quaterniond end = turned(q, dt * omega);
  s.quaternion = {end.w(), end.x(), end.y(), end.z()};
  s.angular_momentum += dt * torque;
}

/// Lengths of the three steps of fourth order, in those of the whole: they sum up to one, and their cubes to zero.
const double outer_part = 1 / (2 - std::cbrt(2.0));
const double inner_part = 1 - 2 * outer_part;

void step_explicit(RigidState& s, RowMatrix3& r, const RigidInertia& inertia, const Vector3& force, const Vector3& torque,
                   double dt) {
  s.position += (dt * inertia.inverse_mass) * s.momentum;
  s.momentum += dt * force;
  const Vector3 omega = r * (inertia.inverse_inertia * (r.transpose() * s.angular_momentum));
  for (Eigen::Index k = 0; k < 3; ++k) {
    const Vector3 column = r.col(k);
    r.col(k) = column + dt * omega.cross(column);
  }
  s.angular_momentum += dt * torque;
}

}  // namespace

Vector3 angular_velocity(const RigidInertia& inertia, const Eigen::Quaterniond& orientation, const Vector3& momentum) {
  return orientation * Vector3(inertia.inverse_inertia * (orientation.conjugate() * momentum));
}

void move_rigid_bodies(std::span<RigidState> states, std::span<const RigidInertia> inertias, std::span<const Vector3> forces,
                       std::span<const Vector3> torques, double dt, Index steps, RigidMethod method,
                       std::span<RowMatrix3> matrices) {
  const std::size_t n = states.size();
  require(inertias.size() == n && forces.size() == n && torques.size() == n,
          "inertias, forces and torques must be as many as bodies");
  require(method != RigidMethod::explicit_euler || matrices.size() == n, "explicit Euler needs a matrix for each body");
  parallel_for(0, static_cast<Index>(n), 16, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      RigidState& s = states[i];
      const auto step = [&](double h) { step_midpoint(s, inertias[i], forces[i], torques[i], h); };
      for (Index k = 0; k < steps; ++k) {
        const double turn = dt * angular_velocity(inertias[i], s.orientation(), s.angular_momentum).norm();
        const double parts = std::clamp(std::ceil(turn / longest_turn), 1.0, most_parts);
        switch (method) {
          case RigidMethod::midpoint:
            for (double j = 0; j < parts; ++j) step(dt / parts);
            break;
          case RigidMethod::fourth_order:
            for (double j = 0; j < parts; ++j)
              for (const double part : {outer_part, inner_part, outer_part}) step(part * dt / parts);
            break;
          case RigidMethod::explicit_euler:
            step_explicit(s, matrices[i], inertias[i], forces[i], torques[i], dt);
            break;
        }
      }
      if (method == RigidMethod::explicit_euler) {
        const Eigen::Quaterniond q(numerics::polar_rotation(matrices[i]));
        s.quaternion = {q.w(), q.x(), q.y(), q.z()};
      }
    }
  });
}

}  // namespace meniscus::solids
