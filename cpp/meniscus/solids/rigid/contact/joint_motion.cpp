// How joints take part in a step. A body that hangs alone on what does not move, a top or a pendulum: impulses act where it is at
// the start, such that it ends where its joint holds, and velocities there keep it so. With free motion in between this is
// RATTLE: second order, symmetric in time, but explicit. Where a body turns too far in the step, and where there are contacts,
// loops, motors, limits, springs or further bodies, whose pull would ask for shorter steps, velocities hold the joints at the
// start of the step: first order, but damped.
//
// Sources: Andersen, "Rattle: a velocity version of the Shake algorithm", 1983; Hairer, Lubich and Wanner 2006, section VII.1.4.
#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

/// Of speeds at a joint: what it may miss by, and what it must not miss by.
constexpr double near_enough = 1e-12, too_far = 1e-4;
/// Corrections of the aim in a solve; each is better by about the turn of a step, in rad.
constexpr int most_aims = 12;
/// rad, in a step.
constexpr double most_turn = 1;
constexpr double none = std::numeric_limits<double>::infinity();

template <class F>
void for_each_of(std::size_t n, F&& f) {
  parallel_for(0, static_cast<Index>(n), 64, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) f(i);
  });
}

}  // namespace

void RigidSystem::prepare_joints(double h) {
  static const WorldInertia still;
  const auto inertia = [&](std::int32_t b) -> const WorldInertia& { return moves(b) ? inertias_[b] : still; };
  for_each_of(joints.size(), [&](std::size_t j) {
    const auto b = joints[j].bodies;
    if (moves(b[0]) || moves(b[1])) prepare_joint(joints[j], pose(b[0]), inertia(b[0]), pose(b[1]), inertia(b[1]), h, rows_[j]);
  });
}

void RigidSystem::begin_joints(double h) {
  rows_.resize(joints.size());
  prepare_joints(h);
  moving_.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) moving_[i] = moves(static_cast<std::int32_t>(i));
  trees_.build(joints, moving_);
  trees_.factor(rows_, inertias_);
  joined_.assign(parts.size(), 0);
  leaning_.assign(parts.size(), 0);
  misses_.assign(joints.size(), 0);
  for (const ContactGroup& g : contacts.groups)
    if (std::ranges::any_of(contacts.of(g), [](const ContactPoint& c) { return c.normal_impulse > 0 || c.gap <= 0; }))
      for (const std::int32_t b : g.bodies) leaning_[b] = 1;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const Joint& joint = joints[j];
    const auto b = joint.bodies;
    bool leans = moving_[b[0]] == moving_[b[1]] || !trees_.contains(j) || joint.motor_limit > 0 || joint.stiffness > 0 ||
                 joint.damping > 0 || joint.lowest > -none || joint.highest < none;
    for (const std::int32_t i : b) {
      joined_[i] = 1;
      leans = leans || (moving_[i] && h * velocities_[i].angular.norm() > most_turn);
    }
    if (leans) leaning_[b[0]] = leaning_[b[1]] = 1;
  }
  trees_.spread(leaning_);
  aims_ = 0;
}

bool RigidSystem::leans(std::size_t j) const {
  const auto b = joints[j].bodies;
  return (moving_[b[0]] && leaning_[b[0]]) || (moving_[b[1]] && leaning_[b[1]]) || !(moving_[b[0]] || moving_[b[1]]);
}

bool RigidSystem::aim_joints(double h) {
  if (aims_ == most_aims) return true;
  ++aims_;
  ends_.resize(parts.size());
  for_each_of(parts.size(), [&](std::size_t i) {
    if (!joined_[i] || (moving_[i] && leaning_[i])) return;
    const RigidVelocity& v = velocities_[i];
    const Eigen::Quaterniond q(rotations_[i]);
    if (!moving_[i]) {
      const double way = asleep_[i] ? 0 : h;
      ends_[i] = {turned(q, way * v.angular).toRotationMatrix(), centers_[i] + way * v.linear};
      return;
    }
    // With the mean of the velocities before and after the forces.
    const RigidInertia& own = parts[i].inertia;
    const Vector3 linear = v.linear - own.inverse_mass * kicks_[i].linear;
    const Vector3 spin = inertias_[i].inverse_inertia.inverse() * v.angular - kicks_[i].angular;
    ends_[i] = {turned(turned_freely(own, q, spin, h), shifts_[i].angular).toRotationMatrix(),
                centers_[i] + h * linear + shifts_[i].linear};
  });
  const auto speed = [&](std::size_t j, std::size_t k) {
    const std::int32_t b = joints[j].bodies[k];
    const double kick = moving_[b] ? parts[b].inertia.inverse_mass * kicks_[b].linear.norm() : 0;
    return velocities_[b].linear.norm() + velocities_[b].angular.norm() * joints[j].points[k].norm() + kick;
  };
  for_each_of(joints.size(), [&](std::size_t j) {
    misses_[j] = 0;
    if (leans(j)) return;
    const auto b = joints[j].bodies;
    JointRows& r = rows_[j];
    std::array<double, 6> errors{};
    joint_errors(joints[j], ends_[b[0]], ends_[b[1]], errors);
    for (std::int32_t k = 0; k < r.count; ++k) {
      const double miss = (errors[k] - r.errors[k]) / h;
      r.targets[k] = r.rows[k].velocity(velocities_[b[0]], velocities_[b[1]]) - miss;
      misses_[j] = std::max(misses_[j], std::abs(miss));
    }
    misses_[j] /= speed(j, 0) + speed(j, 1) + std::numeric_limits<double>::min();
    for (const std::int32_t i : b)
      if (moving_[i] && !(h * velocities_[i].angular.norm() <= most_turn)) misses_[j] = none;
  });
  if (*std::ranges::max_element(misses_) <= near_enough) return true;
  // What the rows of the start do not lead to.
  bool given_up = false;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (misses_[j] < none && (aims_ < most_aims || misses_[j] <= too_far)) continue;
    for (const std::int32_t b : joints[j].bodies) leaning_[b] = 1;
    given_up = true;
  }
  if (!given_up) return false;
  trees_.spread(leaning_);
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (leans(j)) rows_[j].targets = {};
  return false;
}

bool RigidSystem::joints_alone() const {
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (leans(j)) return false;
  return contacts.groups.empty();
}

void RigidSystem::settle_joints(const RigidArrays& a, double h) {
  bool any = false;
  for (std::size_t j = 0; j < joints.size() && !any; ++j) any = !leans(j);
  if (!any) return;
  for_each_of(parts.size(), [&](std::size_t i) {
    if (!joined_[i]) return;
    const RigidState& s = a.states[i];
    rotations_[i] = s.orientation().toRotationMatrix();
    centers_[i] = s.position;
    if (!settles(i)) return;
    inertias_[i].inverse_inertia = rotations_[i] * parts[i].inertia.inverse_inertia * rotations_[i].transpose();
    velocities_[i] = {parts[i].inertia.inverse_mass * s.momentum, inertias_[i].inverse_inertia * s.angular_momentum};
    before_[i] = velocities_[i];
  });
  prepare_joints(1);
  trees_.factor(rows_, inertias_);
  trees_.solve(joints, rows_, 0, velocities_, {});
  for_each_of(parts.size(), [&](std::size_t i) {
    if (!settles(i)) return;
    a.states[i].momentum += (velocities_[i].linear - before_[i].linear) / parts[i].inertia.inverse_mass;
    a.states[i].angular_momentum += inertias_[i].inverse_inertia.inverse() * (velocities_[i].angular - before_[i].angular);
    count_quiet(a, i, h, velocities_[i]);
  });
}

void RigidSystem::sweep_one_joint(std::size_t j, double h, RigidVelocity& first, RigidVelocity& second) {
  sweep_free(joints[j], rows_[j], h, joint_memory[j], first, second);
  if (!trees_.contains(j)) sweep_joint(rows_[j], joint_memory[j], first, second);
}

}  // namespace meniscus::solids
