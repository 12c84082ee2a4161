// Impacts with restitution, before forces. Points of a pair that meet first in the step bounce together; what joints hand on
// belongs to what an impulse does: a body that hangs on others bounces as they let it.
//
// Sources: Guendelman, Bridson and Fedkiw 2003 (impacts one pair after the other, before forces); Baraff 1996 (response of
// trees of joints).
#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

constexpr std::size_t most_impacts = 64;
constexpr int most_sweeps = 400;

}  // namespace

std::span<RigidSystem::Impact> RigidSystem::meeting(const SolverGroup& g, const RigidArrays& a, double h) {
  impacts_.clear();
  const auto acceleration = [&](std::int32_t b) -> Vector3 {
    return moves(b) ? Vector3(parts[b].inertia.inverse_mass * a.forces[b]) : Vector3(Vector3::Zero());
  };
  const Vector3 relative = acceleration(g.bodies[0]) - acceleration(g.bodies[1]);
  double soonest = h;
  for (SolverPoint& c : points_of(g).points) {
    const double u = c.normal.velocity(velocities_[g.bodies[0]], velocities_[g.bodies[1]]);
    if (!(u < -options.restitution_speed) || impacts_.size() == most_impacts) continue;
    // When the gap closes, with the relative acceleration of the centres: gap + u t + a t^2 / 2 = 0.
    const double pull = c.normal.direction.dot(relative);
    double t = 0;
    if (c.gap > 0) {
      const double root = u * u - 2 * pull * c.gap;
      if (!(root >= 0)) continue;
      t = 2 * c.gap / (-u + std::sqrt(root));
      if (!(t <= h)) continue;
    }
    // Speeds at that time are those of now and a t: the impulse is such that they are the right ones then.
    if (!(u + pull * t < 0)) continue;
    impacts_.push_back({&c, t, u, u - (1 + g.surface.restitution) * (u + pull * t)});
    soonest = std::min(soonest, t);
  }
  // What meets with the first point, but for the overlap that does not count, meets at once.
  const auto end = std::stable_partition(impacts_.begin(), impacts_.end(),
                                         [&](const Impact& m) { return -m.before * (m.time - soonest) <= options.slop; });
  return {impacts_.begin(), end};
}

void RigidSystem::respond(const SolverGroup& g, std::span<const Impact> now) {
  Response& r = response_;
  const auto b = g.bodies;
  r.field.resize(parts.size());
  r.hangs = false;
  if (!joints.empty()) {
    r.trees.assign(parts.size(), 0);
    for (std::size_t i = 0; i < trees_.links(); ++i) {
      const std::int32_t body = trees_.link(i).body;
      if (body == b[0] || body == b[1]) r.trees[body] = 1, r.hangs = true;
    }
    if (r.hangs) trees_.spread(r.trees);
  }
  const std::size_t n = 3 * now.size();
  r.rows.clear();
  for (const Impact& m : now)
    for (const ImpulseRow* row : {&m.point->normal, &m.point->tangent[0], &m.point->tangent[1]}) r.rows.push_back(row);
  r.columns.resize(n);
  r.matrix.resize(n * n);
  for (std::size_t c = 0; c < n; ++c) {
    r.impulses.assign(n, 0.0);
    r.impulses[c] = 1;
    spread_impulses(g);
    r.columns[c] = {r.field[b[0]], r.field[b[1]]};
    for (std::size_t i = 0; i < n; ++i) r.matrix[i * n + c] = r.rows[i]->velocity(r.columns[c][0], r.columns[c][1]);
  }
  r.impulses.assign(n, 0.0);
}

void RigidSystem::spread_impulses(const SolverGroup& g) {
  Response& r = response_;
  RigidVelocity first, second;
  for (std::size_t c = 0; c < r.rows.size(); ++c)
    if (r.impulses[c] != 0) r.rows[c]->apply(r.impulses[c], first, second);
  if (r.hangs) std::ranges::fill(r.field, RigidVelocity{});
  r.field[g.bodies[0]] = first;
  r.field[g.bodies[1]] = second;
  if (r.hangs) trees_.solve(joints, rows_, 0, r.trees, r.field, {});
}

Index RigidSystem::bounce_group(const SolverGroup& g, const RigidArrays& a, double h) {
  if (!(g.surface.restitution > 0)) return 0;
  const std::span<Impact> now = meeting(g, a, h);
  if (now.empty()) return 0;
  respond(g, now);
  Response& r = response_;
  const auto b = g.bodies;
  const std::size_t n = r.rows.size();
  r.speeds.resize(n);
  double fastest = 0;
  for (std::size_t i = 0; i < n; ++i) r.speeds[i] = r.rows[i]->velocity(velocities_[b[0]], velocities_[b[1]]);
  for (const Impact& m : now) fastest = std::max(fastest, -m.before);
  const auto add = [&](std::size_t row, double impulse) {
    r.impulses[row] += impulse;
    for (std::size_t i = 0; i < n; ++i) r.speeds[i] += r.matrix[i * n + row] * impulse;
  };
  const auto inverse = [](double x) { return x > 0 ? 1 / x : 0; };
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    double change = 0;
    for (std::size_t k = 0; k < now.size(); ++k) {
      SolverPoint& c = *now[k].point;
      const std::size_t i = 3 * k;
      const double* const m = r.matrix.data();
      const double own = m[i * n + i];
      const double p = std::max(0.0, r.impulses[i] + (now[k].wanted - r.speeds[i]) * inverse(own)) - r.impulses[i];
      add(i, p);
      c.impact_impulse += p;
      // By the largest response in the plane.
      const double k1 = m[(i + 1) * n + i + 1], k2 = m[(i + 2) * n + i + 2], k12 = m[(i + 1) * n + i + 2];
      const double mass = inverse(0.5 * (k1 + k2) + std::sqrt(0.25 * (k1 - k2) * (k1 - k2) + k12 * k12));
      double s1 = c.impact_tangent[0] - mass * r.speeds[i + 1], s2 = c.impact_tangent[1] - mass * r.speeds[i + 2];
      limit_friction(g.surface, options, c.impact_impulse, s1, s2);
      add(i + 1, s1 - c.impact_tangent[0]);
      add(i + 2, s2 - c.impact_tangent[1]);
      c.impact_tangent = {s1, s2};
      change = std::max(change, std::abs(p) * own);
    }
    if ((now.size() < 2 && !r.hangs) || change <= 1e-13 * fastest) break;
  }
  Index bounced = 0;
  double sum = 0, late = 0;
  for (std::size_t k = 0; k < now.size(); ++k) {
    bounced += r.impulses[3 * k] > 0;
    sum += r.impulses[3 * k];
    late += r.impulses[3 * k] * now[k].time;
  }
  spread_impulses(g);
  // What goes on after an impact within the step would have gone on otherwise before it.
  const double time = late * inverse(sum);
  const auto move = [&](std::size_t i) {
    if (!moves(static_cast<std::int32_t>(i))) return;
    velocities_[i].linear += r.field[i].linear;
    velocities_[i].angular += r.field[i].angular;
    shifts_[i].linear -= time * r.field[i].linear;
    shifts_[i].angular -= time * r.field[i].angular;
  };
  for (const std::int32_t i : b)
    if (!r.hangs || !r.trees[i]) move(i);
  for (std::size_t i = 0; r.hangs && i < parts.size(); ++i)
    if (r.trees[i]) move(i);
  return bounced;
}

void RigidSystem::bounce(const RigidArrays& a, double h) {
  read(a);
  for (std::size_t i = 0; i < shifts_.size(); ++i) shifts_[i] = {}, touched_[i] = 0;
  const auto restitutes = [](const RigidPart& p) { return p.properties.restitution > 0; };
  if (!std::any_of(parts.begin(), parts.end(), restitutes)) return;
  prepare(h);
  if (!joints.empty()) prepare_joints(h);
  before_ = velocities_;
  for (int sweep = 0; sweep < options.impact_sweeps; ++sweep) {
    Index bounced = 0;
    for (const SolverGroup& g : groups_)
      if (moves(g.bodies[0]) || moves(g.bodies[1])) bounced += bounce_group(g, a, h);
    report_.impacts += bounced;
    if (bounced == 0) break;
  }
  store(a);
}

}  // namespace meniscus::solids
