#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/threads/phases.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

/// Bodies, or points, of a piece of a loop.
constexpr Index body_chunk = 64;
/// Pairs of bodies of a piece of a sweep.
constexpr Index pairs_of_sweep_piece = 8;

template <class F>
void for_all(std::size_t n, F&& f) {
  parallel_for(0, static_cast<Index>(n), body_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) f(i);
  });
}

}  // namespace

void RigidSystem::read(const RigidArrays& a) {
  const std::size_t n = parts.size();
  require(a.states.size() == n && a.given.size() == n && a.forces.size() == n && a.torques.size() == n && a.quiet.size() == n,
          "states, velocities, forces, torques and times must be as many as the ", n, " bodies");
  rotations_.resize(n);
  centers_.resize(n);
  inertias_.resize(n);
  velocities_.resize(n);
  asleep_.resize(n);
  touched_.resize(n);
  shifts_.resize(n);
  for_all(n, [&](std::size_t i) {
    const RigidState& s = a.states[i];
    rotations_[i] = s.orientation().toRotationMatrix();
    centers_[i] = s.position;
    if (!parts[i].dynamic()) {
      inertias_[i] = {};
      velocities_[i] = a.given[i];
      return;
    }
    const RigidInertia& own = parts[i].inertia;
    inertias_[i] = {own.inverse_mass, rotations_[i] * own.inverse_inertia * rotations_[i].transpose()};
    velocities_[i] = {own.inverse_mass * s.momentum, inertias_[i].inverse_inertia * s.angular_momentum};
  });
}

std::array<double, 2> RigidSystem::rounding(std::array<std::int32_t, 2> b) const {
  const RigidPart &p = parts[b[0]], &q = parts[b[1]];
  const double half = 0.25 * (p.properties.thickness + q.properties.thickness);
  return {p.form->radius + half, q.form->radius + half};
}

Vector3 RigidSystem::normal_of_balls(std::size_t a, std::size_t b, double distance, double h, const Vector3& otherwise) const {
  const Vector3 ra = rotations_[a] * parts[a].form->vertices[0], rb = rotations_[b] * parts[b].form->vertices[0];
  const Vector3 d = centers_[a] + ra - centers_[b] - rb;
  const Vector3 u =
      velocities_[a].linear + velocities_[a].angular.cross(ra) - velocities_[b].linear - velocities_[b].angular.cross(rb);
  // Where they meet, pass each other, or are at the end of the step: what happens first.
  const double along = d.dot(u), square = u.squaredNorm(), beyond = d.squaredNorm() - distance * distance;
  double t = 0;
  if (beyond > 0 && along < 0) {
    const double root = along * along - square * beyond;
    t = std::min(h, root >= 0 ? beyond / (-along + std::sqrt(root)) : -along / square);
  }
  const Vector3 then = d + t * u;
  const double length = then.norm();
  return length > 0 ? Vector3(then / length) : otherwise;
}

void RigidSystem::anchor() {
  std::swap(anchors_, old_anchors_);
  anchors_.resize(contacts.points.size());
  for_all(contacts.groups.size(), [&](std::size_t g) {
    const ContactGroup& group = contacts.groups[g];
    // `found_` are the contacts before.
    const auto pair = std::lower_bound(pairs_.begin(), pairs_.end(), group.bodies);
    const bool kept = pair != pairs_.end() && *pair == group.bodies && kept_[pair - pairs_.begin()];
    if (kept && old_anchors_.size() == found_.points.size()) {
      const Index from = found_.find(group.bodies)->first;
      for (Index i = 0; i < group.count; ++i) anchors_[group.first + i] = old_anchors_[from + i];
      return;
    }
    const auto a = static_cast<std::size_t>(group.bodies[0]), b = static_cast<std::size_t>(group.bodies[1]);
    const std::array<double, 2> r = rounding(group.bodies);
    for (Index i = group.first; i < group.first + group.count; ++i) {
      const ContactPoint& c = contacts.points[i];
      anchors_[i] = {rotations_[a].transpose() * (c.point + (0.5 * c.gap + r[0]) * c.normal - centers_[a]),
                     rotations_[b].transpose() * (c.point - (0.5 * c.gap + r[1]) * c.normal - centers_[b])};
    }
  });
}

void RigidSystem::prepare(double h) {
  groups_.resize(contacts.groups.size());
  points_.resize(contacts.points.size());
  const auto turning = [](const RigidPart& p) { return p.properties.rolling_friction > 0 || p.properties.spinning_friction > 0; };
  turns_.resize(std::any_of(parts.begin(), parts.end(), turning) ? points_.size() : 0);
  for_all(groups_.size(), [&](std::size_t g) {
    const ContactGroup& group = contacts.groups[g];
    const auto a = static_cast<std::size_t>(group.bodies[0]), b = static_cast<std::size_t>(group.bodies[1]);
    const RigidSurface &sa = parts[a].properties, &sb = parts[b].properties;
    SolverGroup& out = groups_[g];
    out = {group.bodies, group.count, group.first, surface_of_pair(sa, sb), false};
    Vector3 direction = Vector3::Zero();
    if (sa.direction.squaredNorm() > 0) {
      direction = rotations_[a] * sa.direction;
      out.surface.across = sa.across;
    } else if (sb.direction.squaredNorm() > 0) {
      direction = rotations_[b] * sb.direction;
      out.surface.across = sb.across;
    }
    static const WorldInertia still;
    const std::array<double, 2> r = rounding(group.bodies);
    const bool round_a = parts[a].form->radius > 0, round_b = parts[b].form->radius > 0;
    const bool balls = round_a && round_b && parts[a].form->ball() && parts[b].form->ball() &&
                       (moves(group.bodies[0]) || moves(group.bodies[1]));
    const WorldInertia &ma = moves(group.bodies[0]) ? inertias_[a] : still, &mb = moves(group.bodies[1]) ? inertias_[b] : still;
    for (Index i = group.first; i < group.first + group.count; ++i) {
      ContactPoint& c = contacts.points[i];
      // What has bounced keeps the normal of its impact.
      if (balls && !(points_[i].impact_impulse > 0)) c.normal = normal_of_balls(a, b, r[0] + r[1], h, c.normal);
      const Vector3 on_a = rotations_[a] * anchors_[i].first + centers_[a] - r[0] * c.normal;
      const Vector3 on_b = rotations_[b] * anchors_[i].second + centers_[b] + r[1] * c.normal;
      c.gap = c.normal.dot(on_a - on_b);
      if (!round_a && !round_b) {
        c.point = 0.5 * (on_a + on_b);
        prepare_point(c, direction, ma, c.point - centers_[a], mb, c.point - centers_[b], h, options, points_[i]);
      } else {
        // What is round is touched below its core, wherever the other one has gone.
        const Vector3 half = 0.5 * c.gap * c.normal;
        const Vector3 at_a = balls ? on_a : round_a ? Vector3(on_a - half) : Vector3(on_b + half);
        const Vector3 at_b = balls ? on_b : at_a;
        c.point = 0.5 * (at_a + at_b);
        prepare_point(c, direction, ma, at_a - centers_[a], mb, at_b - centers_[b], h, options, points_[i]);
      }
      out.overlaps = out.overlaps || points_[i].push_target > 0;
      if (out.turns()) prepare_turns(c, points_[i], ma, mb, options, turns_[i]);
    }
  });
}

GroupPoints RigidSystem::points_of(const SolverGroup& g) {
  const auto count = static_cast<std::size_t>(g.count);
  return {{points_.data() + g.first, count}, {g.turns() ? turns_.data() + g.first : nullptr, g.turns() ? count : 0}};
}

void RigidSystem::store(const RigidArrays& a) {
  for_all(parts.size(), [&](std::size_t i) {
    if (!moves(static_cast<std::int32_t>(i))) return;
    RigidState& s = a.states[i];
    const RigidVelocity &v = velocities_[i], &u = before_[i];
    // Momenta change by what velocities do, so that those of bodies that nothing touches keep their bits.
    if (v.linear != u.linear) s.momentum += (v.linear - u.linear) / parts[i].inertia.inverse_mass;
    if (v.angular != u.angular) s.angular_momentum += inertias_[i].inverse_inertia.inverse() * (v.angular - u.angular);
  });
}

void RigidSystem::predict(const RigidArrays& a, double h) {
  if (!joints.empty()) {
    starts_.assign(a.states.begin(), a.states.end());
    loads_.resize(parts.size());
    for_all(parts.size(), [&](std::size_t i) { loads_[i] = {a.forces[i], a.torques[i]}; });
  }
  for_all(parts.size(), [&](std::size_t i) {
    if (!moves(static_cast<std::int32_t>(i))) return;
    a.states[i].momentum += h * a.forces[i];
    a.states[i].angular_momentum += h * a.torques[i];
  });
  read(a);
  before_ = velocities_;
}

void RigidSystem::solve(const RigidArrays& a, double h) {
  begin_solve(h);
  iterate(0, 1 + options.iterations, h);
  push(options.iterations, h);
  end_solve(a);
}

bool RigidSystem::sweep(double h) {
  iterate(report_.iterations == 0 ? 0 : 1, 2, h);
  push(1, h);
  return converged();
}

void RigidSystem::begin_solve(double h) {
  prepare(h);
  substep_ = h;
  if (!joints.empty()) begin_joints(h);
  // A body with hundreds of contacts would cost as many phases.
  const auto colour = [&](numerics::Colouring& colours, const auto& pairs) {
    colours.colour(
        std::ssize(pairs), std::ssize(parts),
        [&](Index i, auto&& visit) {
          for (const std::int32_t b : pairs[i].bodies)
            if (moves(b)) visit(b);
        },
        numerics::WhenFull::take_in_turn);
  };
  colour(joint_colours_, joints);
  colour(contact_colours_, groups_);
  report_.colours = static_cast<int>(joint_colours_.size() + contact_colours_.size());
  pseudo_.assign(parts.size(), {});
  if (options.warm != 1)
    for (JointMemory& m : joint_memory) m.scale(options.warm);
  // A motor that was switched off gives nothing any more.
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (!(joints[j].motor_limit > 0)) joint_memory[j].motor = 0;
  report_.iterations = 0;
}

void RigidSystem::end_solve(const RigidArrays& a) {
  solve_islands(a);
  report_.residual = 0;
  for (const SolverGroup& g : groups_)
    with_bodies(g.bodies, velocities_, [&](const RigidVelocity& first, const RigidVelocity& second) {
      if (!moves(g.bodies[0]) && !moves(g.bodies[1])) return;
      for (Index i = g.first; i < g.first + g.count; ++i)
        report_.residual = std::max(report_.residual, points_[i].target - points_[i].normal.velocity(first, second));
    });
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const auto b = joints[j].bodies;
    if (!leaning_[b[0]] && !leaning_[b[1]]) continue;
    const RigidVelocity &first = velocities_[b[0]], &second = velocities_[b[1]];
    for (std::int32_t k = 0; k < rows_[j].count; ++k) {
      const ImpulseRow& row = rows_[j].rows[k];
      if (!row.direction.isZero(0))
        report_.residual = std::max(report_.residual, std::abs(row.velocity(first, second) - rows_[j].targets[k]));
    }
  }
  for (const SolverGroup& g : groups_)
    for (Index i = g.first; i < g.first + g.count; ++i) {
      const SolverPoint& p = points_[i];
      ContactPoint& c = contacts.points[i];
      if (!moves(g.bodies[0]) && !moves(g.bodies[1])) continue;
      c.normal_impulse = p.impulse;
      c.tangent_impulse = p.tangent_impulse;
      if (g.turns()) c.turning_impulse = turns_[i].impulse;
      c.tangent = p.tangent[0].direction;
      if (p.impulse > 0)
        for (const std::int32_t b : g.bodies) touched_[b] = 1;
    }
  for (const Joint& j : joints)
    for (const std::int32_t b : j.bodies) touched_[b] |= leaning_[b];
  store(a);
}

template <class Joints, class Groups, class Between>
void RigidSystem::sweep_phases(Index sweeps, std::span<RigidVelocity> of, Joints&& joint, Groups&& group, Between&& between) {
  // Phases of a sweep: the colours of joints, something in between, and the colours of contacts.
  const Index before = joint_colours_.size(), all = before + 1 + contact_colours_.size();
  bool stop = false;
  const auto extent = [&](Index phase) -> std::pair<Index, Index> {
    const Index p = phase % all;
    if (stop) return {0, 0};
    return p < before    ? joint_colours_.extent(p)
           : p == before ? std::pair<Index, Index>(0, 1)
                         : contact_colours_.extent(p - before - 1);
  };
  parallel_phases(sweeps * all, pairs_of_sweep_piece, extent, [&](Index phase, Index b, Index e) {
    const Index p = phase % all, k = phase / all;
    if (p < before) {
      joint_colours_.visit(p, b, e, [&](Index i) {
        const Index j = i;
        if (moves(joints[j].bodies[0]) || moves(joints[j].bodies[1]))
          with_bodies(joints[j].bodies, of, [&](RigidVelocity& first, RigidVelocity& second) { joint(k, j, first, second); });
      });
    } else if (p == before) {
      stop = between(k);
    } else {
      contact_colours_.visit(p - before - 1, b, e, [&](Index i) {
        const SolverGroup& g = groups_[i];
        if (moves(g.bodies[0]) || moves(g.bodies[1]))
          with_bodies(g.bodies, of, [&](RigidVelocity& first, RigidVelocity& second) { group(k, g, first, second); });
      });
    }
  });
}

void RigidSystem::iterate(Index first, Index last, double h) {
  // Sweep 0 adds the impulses of the step before.
  sweep_phases(
      last - first, velocities_,
      [&](Index k, std::size_t j, RigidVelocity& a, RigidVelocity& b) {
        if (!leaning_[joints[j].bodies[0]] && !leaning_[joints[j].bodies[1]]) return;
        if (first + k == 0) {
          warm_joint(rows_[j], joint_memory[j], a, b);
          return;
        }
        sweep_free(joints[j], rows_[j], h, joint_memory[j], a, b);
        if (!trees_.contains(j)) sweep_joint(rows_[j], joint_memory[j], a, b);
      },
      [&](Index k, const SolverGroup& g, RigidVelocity& a, RigidVelocity& b) {
        if (first + k == 0)
          warm_contacts(points_of(g), a, b);
        else
          sweep_contacts(g, points_of(g), options, a, b);
      },
      [&](Index k) {
        if (first + k == 0) return false;
        // Before the contacts of this sweep: what those of the last one have changed.
        if (report_.iterations > 0 && converged()) return true;
        ++report_.iterations;
        if (!joints.empty()) {
          if (contacts.groups.empty() && std::ranges::find(leaning_, 1) == leaning_.end()) return true;
          trees_.solve(joints, rows_, 0, leaning_, velocities_, joint_memory);
        }
        if (options.exact()) solve_exactly();
        return false;
      });
}

bool RigidSystem::converged() const {
  if (!(options.tolerance > 0) || !joints.empty()) return false;
  double change = 0;
  for (const SolverPoint& p : points_) change = std::max(change, p.change);
  return change <= options.tolerance;
}

void RigidSystem::push(Index sweeps, double h) {
  const auto overlaps = [](const SolverGroup& g) { return g.overlaps; };
  if (std::ranges::find(pushed_, 1) == pushed_.end() && std::ranges::none_of(groups_, overlaps)) return;
  sweep_phases(
      sweeps, pseudo_,
      [&](Index, std::size_t j, RigidVelocity& first, RigidVelocity& second) {
        if (!trees_.contains(j)) push_joint(rows_[j], options.push, h, first, second);
      },
      [&](Index, const SolverGroup& g, RigidVelocity& first, RigidVelocity& second) {
        // What neither overlaps nor is pushed by others stays as it is.
        const auto still = [](const RigidVelocity& v) { return v.linear.isZero(0) && v.angular.isZero(0); };
        if (g.overlaps || !still(first) || !still(second)) push_contacts(points_of(g).points, first, second);
      },
      [&](Index) {
        if (!joints.empty()) trees_.solve(joints, rows_, options.push / h, pushed_, pseudo_, {});
        return false;
      });
}

void RigidSystem::turn_in_place(const RigidInertia& inertia, Eigen::Quaterniond q, const Vector3& turn, RigidState& s) {
  if (turn.squaredNorm() > 0) {
    // Gives no energy: where it would, as to thin bodies, their angular momentum turns with them.
    const double energy = angular_velocity(inertia, q, s.angular_momentum).dot(s.angular_momentum);
    q = turned(q, turn);
    if (angular_velocity(inertia, q, s.angular_momentum).dot(s.angular_momentum) > (1 + 1e-9) * energy)
      s.angular_momentum = turned(Eigen::Quaterniond::Identity(), turn) * s.angular_momentum;
  }
  s.quaternion = {q.w(), q.x(), q.y(), q.z()};
}

void RigidSystem::advance(const RigidArrays& a, double h, double whole) {
  for_all(parts.size(), [&](std::size_t i) {
    RigidState& s = a.states[i];
    if (asleep_[i]) {
      s.momentum.setZero();
      s.angular_momentum.setZero();
      return;
    }
    if (!parts[i].dynamic()) {
      s.position += h * a.given[i].linear;
      const Eigen::Quaterniond q = turned(s.orientation(), h * a.given[i].angular);
      s.quaternion = {q.w(), q.x(), q.y(), q.z()};
      return;
    }
    const double inverse = parts[i].inertia.inverse_mass;
    Eigen::Quaterniond q;
    if (flies(i)) {
      q = land(i, h, s);
    } else {
      s.position += h * (inverse * s.momentum) + h * pseudo_[i].linear + shifts_[i].linear;
      // What nothing touches moves as `move_rigid_bodies` does: with the momenta in the middle of the step.
      const bool alone = !touched_[i];
      if (alone) s.position -= (0.5 * h * whole * inverse) * a.forces[i];
      const Vector3 turning = alone ? Vector3(s.angular_momentum - (0.5 * whole) * a.torques[i]) : s.angular_momentum;
      q = turned_freely(parts[i].inertia, s.orientation(), turning, h);
    }
    const Vector3 extra = h * pseudo_[i].angular + shifts_[i].angular;
    shifts_[i] = {};
    turn_in_place(parts[i].inertia, q, extra, s);
    const Vector3 omega = angular_velocity(parts[i].inertia, s.orientation(), s.angular_momentum);
    const bool slow = inverse * s.momentum.norm() <= sleep.speed && omega.norm() <= sleep.turn;
    a.quiet[i] = slow ? a.quiet[i] + h : 0;
  });
  if (!joints.empty()) close_joints(a);
}

void RigidSystem::step(const RigidArrays& a, double dt, int substeps, const ContactList& given) {
  const double h = dt / substeps;
  for (int k = 0; k < substeps; ++k) {
    if (k == 0)
      find_contacts(a, dt, given);
    else
      follow_contacts(a, h, given);
    bounce(a, h);
    predict(a, h);
    solve(a, h);
    advance(a, h);
  }
}

Index RigidSystem::nbytes() const {
  return contacts.nbytes() + found_.nbytes() + islands_.nbytes() + joint_colours_.nbytes() + contact_colours_.nbytes() +
         trees_.nbytes() + flight_.nbytes() + pair_scratch_.nbytes() + workspace_.bytes() + island_bytes() +
         static_cast<Index>(points_.capacity() * sizeof(SolverPoint) + groups_.capacity() * sizeof(SolverGroup) +
                            2 * anchors_.capacity() * sizeof(Anchor) + rows_.capacity() * sizeof(JointRows) +
                            parts.capacity() * sizeof(RigidPart) + joints.capacity() * sizeof(Joint) +
                            inertias_.capacity() * sizeof(WorldInertia) + 4 * velocities_.capacity() * sizeof(RigidVelocity) +
                            (matrix_.capacity() + lcp_.table.capacity()) * 8);
}

}  // namespace meniscus::solids
