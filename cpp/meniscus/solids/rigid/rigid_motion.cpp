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

// Of the fixed-point iteration for the mean angular velocity of a step, which converges by a factor of at most dt |L| / 2 times
// the largest inverse moment of inertia each.
constexpr int most_iterations = 12;
constexpr double settled = 1e-15;
/// Bodies for which that factor is larger, thin ones, need Newton's method.
constexpr double most_contraction = 0.25;
constexpr int most_newton = 40;
/// rad: steps in which a body turns further are taken in parts, as many as that.
constexpr double longest_turn = 0.25;
constexpr double most_parts = 4096;

Eigen::Matrix3d cross_matrix(const Vector3& v) {
  Eigen::Matrix3d m;
  m << 0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0;
  return m;
}

/// The equation of a step in axes of the body at its start: J W = (l + exp(-dt W) m) / 2, where l and m are the angular momenta
/// before and after it. W is then the mean of the angular velocities at both ends: since a turn about W leaves what is along W,
/// a body without torque keeps its energy W . (m - l) = 0, and with one it takes its work.
struct MeanEquation {
  const Eigen::Matrix3d& inverse_inertia;
  Vector3 l, m;
  double dt;
  Vector3 carried(const Vector3& w) const { return turned(Eigen::Quaterniond::Identity(), -dt * w) * m; }
};

/// By Newton's method, whose matrix is that of J and a skew one; of thin bodies every part of it counts. Halves ways on which the
/// error does not fall, and ends where it falls no further.
void newton_mean(const MeanEquation& e, Vector3& w) {
  const Eigen::Matrix3d inertia = e.inverse_inertia.inverse();
  const double scale = e.l.norm() + e.m.norm();
  Vector3 there = e.carried(w), error = inertia * w - 0.5 * (e.l + there);
  for (int i = 0; i < most_newton; ++i) {
    const double size = error.norm();
    if (size <= settled * scale) return;
    // Of exp(-dt W).
    const Eigen::Matrix3d k = cross_matrix(-e.dt * w);
    const double turn = std::abs(e.dt) * w.norm(), half = std::sin(0.5 * turn);
    const double one = turn > 1e-3 ? 2 * half * half / (turn * turn) : 0.5;
    const double two = turn > 1e-3 ? (turn - std::sin(turn)) / (turn * turn * turn) : 1.0 / 6;
    const Eigen::Matrix3d slope = Eigen::Matrix3d::Identity() + one * k + two * k * k;
    const Vector3 way = -(inertia - 0.5 * e.dt * cross_matrix(there) * slope).partialPivLu().solve(error);
    double part = 1;
    Vector3 next, moved, left;
    for (; part > 1e-4; part *= 0.5) {
      next = w + part * way;
      moved = e.carried(next);
      left = inertia * next - 0.5 * (e.l + moved);
      if (left.norm() < size) break;
    }
    if (!(left.norm() < size)) return;
    w = next, there = moved, error = left;
  }
}

/// The mean angular velocity of a step of dt seconds, in axes of the body, for the angular momenta at its ends.
Vector3 mean_velocity(const Eigen::Matrix3d& inverse_inertia, const Eigen::Quaterniond& q, const Vector3& before,
                      const Vector3& after, double dt) {
  const MeanEquation e{inverse_inertia, q.conjugate() * before, q.conjugate() * after, dt};
  const Vector3 middle = 0.5 * (e.l + e.m);
  Vector3 w = inverse_inertia * middle;
  if (0.5 * std::abs(dt) * middle.norm() * inverse_inertia.norm() > most_contraction) {
    newton_mean(e, w);
    return w;
  }
  for (int i = 0; i < most_iterations; ++i) {
    const Vector3 next = 0.5 * (inverse_inertia * (e.l + e.carried(w)));
    const bool done = (next - w).norm() <= settled * next.norm();
    w = next;
    if (done) break;
  }
  return w;
}

double parts_of(double turn) { return std::clamp(std::ceil(turn / longest_turn), 1.0, most_parts); }

void step_midpoint(RigidState& s, const RigidInertia& inertia, const Vector3& force, const Vector3& torque, double dt) {
  s.position += (dt * inertia.inverse_mass) * (s.momentum + (0.5 * dt) * force);
  s.momentum += dt * force;
  const Eigen::Quaterniond q = s.orientation();
  const Vector3 after = s.angular_momentum + dt * torque;
  const Vector3 w = mean_velocity(inertia.inverse_inertia, q, s.angular_momentum, after, dt);
  const Eigen::Quaterniond end = turned(q, dt * (q * w));
  s.quaternion = {end.w(), end.x(), end.y(), end.z()};
  s.angular_momentum = after;
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

Eigen::Quaterniond turned(const Eigen::Quaterniond& q, const Vector3& turn) {
  const double angle = turn.norm();
  // sin(a / 2) / a, in series where the quotient would lose digits.
  const double part = angle < 1e-4 ? 0.5 - angle * angle / 48 : std::sin(0.5 * angle) / angle;
  Eigen::Quaterniond d;
  d.w() = std::cos(0.5 * angle);
  d.vec() = part * turn;
  return (d * q).normalized();
}

Eigen::Quaterniond turned_freely(const RigidInertia& inertia, Eigen::Quaterniond q, const Vector3& momentum, double dt) {
  const double parts = parts_of(std::abs(dt) * angular_velocity(inertia, q, momentum).norm()), h = dt / parts;
  const Eigen::Matrix3d inverse = inertia.inverse_inertia;
  for (double j = 0; j < parts; ++j) q = turned(q, h * (q * mean_velocity(inverse, q, momentum, momentum, h)));
  return q;
}

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
        const double parts = parts_of(dt * angular_velocity(inertias[i], s.orientation(), s.angular_momentum).norm());
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
