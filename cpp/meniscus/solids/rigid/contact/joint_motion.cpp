// How joints take part in a step. Trees that no contact, loop, motor, spring or limit acts on are moved as a whole (see
// joint_flight.hpp), and the others by velocities that hold the joints at the start of the step: first order, but damped.
#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();
/// Errors of joints that count as none, relative to the arms.
constexpr double no_error = 1e-9;
/// Of arms, and rad: errors of joints that the next steps may remove, and what is left where they are removed at once, by ways on
/// which no body turns further than the third of these, rad.
constexpr double may_open = 0.05, closed = 0.005, most_closing = 0.5;
constexpr int most_closings = 30;
/// What parts joints by as much more than a flight leaves was added by somebody.
constexpr double pushed_apart = 20;

template <class F>
void for_each_of(std::size_t n, F&& f) {
  parallel_for(0, static_cast<Index>(n), 64, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) f(i);
  });
}

double arms(const Joint& joint) { return joint.points[0].norm() + joint.points[1].norm(); }

}  // namespace

void RigidSystem::prepare_rows(double h) {
  static const WorldInertia still;
  const auto inertia = [&](std::int32_t b) -> const WorldInertia& { return moving_[b] ? inertias_[b] : still; };
  for_each_of(joints.size(), [&](std::size_t j) {
    const auto b = joints[j].bodies;
    if (moving_[b[0]] || moving_[b[1]])
      prepare_joint(joints[j], pose(b[0]), inertia(b[0]), pose(b[1]), inertia(b[1]), h, rows_[j]);
  });
}

void RigidSystem::prepare_joints(double h) {
  rows_.resize(joints.size());
  moving_.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) moving_[i] = moves(static_cast<std::int32_t>(i));
  prepare_rows(h);
  trees_.build(joints, moving_);
  trees_.factor(rows_, inertias_);
}

void RigidSystem::begin_joints(double h) {
  prepare_joints(h);
  leaning_.assign(parts.size(), 0);
  for (const ContactGroup& g : contacts.groups)
    if (std::ranges::any_of(contacts.of(g), [](const ContactPoint& c) { return c.normal_impulse > 0 || c.gap <= 0; }))
      for (const std::int32_t b : g.bodies) leaning_[b] = 1;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const Joint& joint = joints[j];
    if (whole_flights && trees_.contains(j) && !(joint.motor_limit > 0 || joint.stiffness > 0 || joint.damping > 0)) continue;
    for (const std::int32_t b : joint.bodies) leaning_[b] = 1;
  }
  // What does not move hands nothing on.
  for (std::size_t i = 0; i < parts.size(); ++i) leaning_[i] = leaning_[i] && moving_[i];
  fly_joints(h);
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (!flies(joints[j].bodies[0]) && !flies(joints[j].bodies[1])) joint_memory[j].flew = 0;
  pushed_ = leaning_;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const double least = no_error * arms(joints[j]);
    if (std::ranges::all_of(rows_[j].errors, [&](double e) { return std::abs(e) <= least; })) continue;
    for (const std::int32_t b : joints[j].bodies) pushed_[b] = 1;
  }
  trees_.spread(pushed_);
}

void RigidSystem::mark_flying() {
  trees_.spread(leaning_);
  flying_.assign(parts.size(), 0);
  for (std::size_t i = 0; i < trees_.links(); ++i) flying_[trees_.link(i).body] = !leaning_[trees_.link(i).body];
}

void RigidSystem::match_velocities(double h) {
  unmatched_.resize(parts.size());
  matched_.assign(parts.size(), 0);
  for_each_of(parts.size(), [&](std::size_t i) {
    unmatched_[i] = moving_[i] ? RigidVelocity{parts[i].inertia.inverse_mass * starts_[i].momentum,
                                               inertias_[i].inverse_inertia * starts_[i].angular_momentum}
                               : given_now_[i];
  });
  // In flight, joints hold between the ends of steps; at the ends velocities part them by what they change in a step, times
  // turns.
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    const auto [first, end] = trees_.extent(t);
    const std::int32_t root = trees_.link(first).body;
    double turn = 0, change = 0, parting = 0;
    bool flew = true;
    for (std::size_t i = first; flies(root) && i < end; ++i) {
      const TreeLink& l = trees_.link(i);
      turn = std::max(turn, h * unmatched_[l.body].angular.norm());
      if (l.joint < 0) continue;
      const JointRows& r = rows_[l.joint];
      const auto b = joints[l.joint].bodies;
      const JointMemory& memory = joint_memory[l.joint];
      flew = flew && memory.flew != 0;
      double own = h * parts[l.body].inertia.inverse_mass * loads_[l.body].linear.norm();
      for (Index k = 0; k < r.count; ++k) {
        const double arm = r.rows[k].direction.isZero(0) ? arms(joints[l.joint]) : 1;
        own += arm * std::abs(memory.equations[k]) * r.rows[k].response;
        parting = std::max(parting, arm * std::abs(r.rows[k].velocity(unmatched_[b[0]], unmatched_[b[1]])));
      }
      change = std::max(change, own);
    }
    matched_[root] = flies(root) && (!flew || parting > pushed_apart * turn * change);
  }
  if (std::ranges::find(matched_, 1) == matched_.end()) return;
  trees_.spread(matched_);
  matching_ = unmatched_;
  trees_.solve(joints, rows_, 0, matched_, matching_, {});
  for_each_of(parts.size(), [&](std::size_t i) {
    if (!matched_[i]) return;
    starts_[i].momentum += (matching_[i].linear - unmatched_[i].linear) / parts[i].inertia.inverse_mass;
    starts_[i].angular_momentum += inertias_[i].inverse_inertia.inverse() * (matching_[i].angular - unmatched_[i].angular);
  });
}

void RigidSystem::fly_joints(double h) {
  mark_flying();
  if (std::ranges::find(flying_, 1) == flying_.end()) return;
  given_now_.resize(parts.size());
  own_inertias_.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    given_now_[i] = parts[i].dynamic() ? RigidVelocity{} : velocities_[i];
    own_inertias_[i] = parts[i].inertia;
  }
  match_velocities(h);
  // Impacts within the step are as if what moves then had begun elsewhere.
  for_each_of(parts.size(), [&](std::size_t i) {
    if (!flies(i)) return;
    RigidState& s = starts_[i];
    s.position += shifts_[i].linear;
    const Eigen::Quaterniond q = turned(s.orientation(), shifts_[i].angular);
    if (!shifts_[i].angular.isZero(0)) s.quaternion = {q.w(), q.x(), q.y(), q.z()};
  });
  flight_.begin(trees_);
  ends_ = starts_;
  flown_memory_ = joint_memory;
  const FlightStart start{joints, own_inertias_, starts_, given_now_, loads_, h};
  parallel_for(0, static_cast<Index>(trees_.size()), 1, [&](Index first, Index last) {
    for (Index t = first; t < last; ++t) {
      const std::int32_t root = trees_.link(trees_.extent(t).first).body;
      if (flies(root) && !flight_.fly(trees_, t, start, ends_, flown_memory_)) leaning_[root] = 1;
    }
  });
  mark_flying();
  const auto lean = [&](std::array<std::int32_t, 2> bodies) {
    for (const std::int32_t b : bodies) leaning_[b] = leaning_[b] || moving_[b];
  };
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const Joint& joint = joints[j];
    const auto b = joint.bodies;
    if ((!flies(b[0]) && !flies(b[1])) || (joint.lowest == -none && joint.highest == none)) continue;
    const auto end = [&](std::int32_t i) -> FormPose {
      if (moving_[i]) return {ends_[i].orientation().toRotationMatrix(), ends_[i].position};
      return {turned(Eigen::Quaterniond(rotations_[i]), h * given_now_[i].angular).toRotationMatrix(),
              centers_[i] + h * given_now_[i].linear};
    };
    const double place = joint_place(joint, end(b[0]), end(b[1]));
    if (!(place > joint.lowest && place < joint.highest)) lean(b);
  }
  mark_flying();
  // What would meet something on its way is left to contact.
  for_each_of(parts.size(), [&](std::size_t i) {
    if (!flies(i)) return;
    Eigen::Quaterniond d = ends_[i].orientation() * starts_[i].orientation().conjugate();
    if (d.w() < 0) d.coeffs() = -d.coeffs();
    const double length = d.vec().norm(), angle = length > 0 ? 2 * std::atan2(length, d.w()) / length : 2;
    velocities_[i] = {(ends_[i].position - starts_[i].position) / h, (angle / h) * d.vec()};
  });
  for (const SolverGroup& g : groups_) {
    if (!flies(g.bodies[0]) && !flies(g.bodies[1])) continue;
    for (const SolverPoint& p : points_of(g).points)
      if (p.normal.velocity(velocities_[g.bodies[0]], velocities_[g.bodies[1]]) < p.target) lean(g.bodies);
  }
  mark_flying();
  for_each_of(parts.size(), [&](std::size_t i) {
    if (flies(i)) {
      before_[i] = velocities_[i];
      shifts_[i] = {};
    } else if (moving_[i]) {
      velocities_[i] = before_[i];
    }
  });
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (flies(joints[j].bodies[0]) || flies(joints[j].bodies[1])) joint_memory[j] = flown_memory_[j];
}

Eigen::Quaterniond RigidSystem::land(std::size_t i, double h, RigidState& s) const {
  const RigidState& end = ends_[i];
  // What contact has added since.
  const Vector3 push = velocities_[i].linear - before_[i].linear, turn = velocities_[i].angular - before_[i].angular;
  s.position = end.position + h * (push + pseudo_[i].linear);
  s.momentum = end.momentum + push / parts[i].inertia.inverse_mass;
  s.angular_momentum = end.angular_momentum + inertias_[i].inverse_inertia.inverse() * turn;
  return turn.isZero(0) ? end.orientation() : turned(end.orientation(), h * turn);
}

void RigidSystem::close_joints(const RigidArrays& a) {
  if (std::ranges::find(leaning_, 1) == leaning_.end()) return;
  double allowed = may_open;
  for (int k = 0; k < most_closings; ++k) {
    for_each_of(parts.size(), [&](std::size_t i) {
      rotations_[i] = a.states[i].orientation().toRotationMatrix();
      centers_[i] = a.states[i].position;
    });
    double worst = 0;
    for (std::size_t j = 0; j < joints.size(); ++j) {
      const auto b = joints[j].bodies;
      if (!leaning_[b[0]] && !leaning_[b[1]]) continue;
      std::array<double, 6> errors{};
      const std::int32_t count = joint_errors(joints[j], pose(b[0]), pose(b[1]), errors);
      for (Index e = 0; e < count; ++e) {
        const double arm = rows_[j].rows[e].direction.isZero(0) ? 1 : arms(joints[j]);
        worst = std::max(worst, arm > 0 ? std::abs(errors[e]) / arm : 0);
      }
    }
    if (!(worst > allowed)) return;
    allowed = closed;
    for_each_of(parts.size(), [&](std::size_t i) {
      if (leaning_[i])
        inertias_[i].inverse_inertia = rotations_[i] * parts[i].inertia.inverse_inertia * rotations_[i].transpose();
    });
    prepare_rows(1);
    trees_.factor(rows_, inertias_);
    pseudo_.assign(parts.size(), {});
    trees_.solve(joints, rows_, 1, leaning_, pseudo_, {});
    for (std::size_t j = 0; j < joints.size(); ++j)
      if (!trees_.contains(j) && (moving_[joints[j].bodies[0]] || moving_[joints[j].bodies[1]]))
        with_bodies(joints[j].bodies, pseudo_, [&](RigidVelocity& p, RigidVelocity& q) { push_joint(rows_[j], 1, 1, p, q); });
    double turn = most_closing;
    for (const RigidVelocity& v : pseudo_) turn = std::max(turn, v.angular.norm());
    const double part = most_closing / turn;
    for_each_of(parts.size(), [&](std::size_t i) {
      if (!leaning_[i]) return;
      a.states[i].position += part * pseudo_[i].linear;
      turn_in_place(parts[i].inertia, a.states[i].orientation(), part * pseudo_[i].angular, a.states[i]);
    });
  }
}

}  // namespace meniscus::solids
