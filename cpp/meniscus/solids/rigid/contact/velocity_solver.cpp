#include "meniscus/solids/rigid/contact/velocity_solver.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

double inverse_of(double x) { return x > 0 ? 1 / x : 0; }

/// A tangent: along a direction where it has a part in the plane, else across the axis that the normal has least of.
Vector3 tangent_of(const Vector3& n, const Vector3& direction) {
  const Vector3 t = direction - n.dot(direction) * n;
  const double length = t.norm();
  if (length > 1e-6) return t / length;
  Eigen::Index axis = 0;
  n.cwiseAbs().minCoeff(&axis);
  return n.cross(Vector3(Vector3::Unit(axis))).normalized();
}

/// Shortens a pair of numbers to a length.
void shorten(double& a, double& b, double length, double limit) {
  const double f = length > 0 ? limit / length : 0;
  a *= f;
  b *= f;
}

void sweep_turns(const RigidSurface& s, double normal_impulse, SolverTurns& c, RigidVelocity& first, RigidVelocity& second) {
  const auto apply = [&](std::size_t k, double value) {
    c.rows[k].apply(value - c.impulse[k], first, second);
    c.impulse[k] = value;
  };
  const double spin = s.spinning_friction * normal_impulse, roll = s.rolling_friction * normal_impulse;
  apply(0, std::clamp(c.impulse[0] - c.mass[0] * c.rows[0].velocity(first, second), -spin, spin));
  double a = c.impulse[1] - c.mass[1] * c.rows[1].velocity(first, second);
  double b = c.impulse[2] - c.mass[1] * c.rows[2].velocity(first, second);
  const double length = std::hypot(a, b);
  if (length > roll) shorten(a, b, length, roll);
  apply(1, a);
  apply(2, b);
}

}  // namespace

void limit_friction(const RigidSurface& s, const ContactOptions& options, double normal_impulse, double& a, double& b) {
  const double stretched = s.across > 0 ? b / s.across : b;
  const double length = std::sqrt(a * a + stretched * stretched);
  if (options.law == FrictionLaw::printed) {
    if (normal_impulse < options.holding_impulse) shorten(a, b, length, s.dynamic_friction * normal_impulse);
    return;
  }
  if (length > s.static_friction * normal_impulse) shorten(a, b, length, s.dynamic_friction * normal_impulse);
}

void prepare_point(const ContactPoint& contact, const Vector3& direction, const WorldInertia& first, const Vector3& r_first,
                   const WorldInertia& second, const Vector3& r_second, double h, const ContactOptions& options,
                   SolverPoint& out) {
  const Vector3& n = contact.normal;
  const Vector3 t = tangent_of(n, direction), s = n.cross(t);
  out.normal = ImpulseRow(n, first, r_first, second, r_second);
  out.tangent = {ImpulseRow(t, first, r_first, second, r_second), ImpulseRow(s, first, r_first, second, r_second)};
  const double k1 = out.tangent[0].response, k2 = out.tangent[1].response;
  double k12 = 0;
  for (std::size_t b = 0; b < 2; ++b) k12 += out.tangent[0].arm[b].dot(out.tangent[1].turned[b]);
  out.tangent_mass = inverse_of(0.5 * (k1 + k2) + std::sqrt(0.25 * (k1 - k2) * (k1 - k2) + k12 * k12));
  out.normal_mass = inverse_of(out.normal.response);
  out.gap = contact.gap;
  out.target = contact.gap > 0 ? -contact.gap / h : 0;
  out.push_target = -options.push * (contact.gap + options.slop) / h;
  out.push_impulse = out.impact_impulse = out.change = out.push_change = 0;
  out.impact_tangent = {};
  out.impulse = options.warm * contact.normal_impulse;
  // Impulses along the tangents of the step before, in those of this one.
  const Vector3 other = contact.normal.cross(contact.tangent);
  const Vector3 p = options.warm * (contact.tangent_impulse[0] * contact.tangent + contact.tangent_impulse[1] * other);
  out.tangent_impulse = {p.dot(t), p.dot(s)};
}

void prepare_turns(const ContactPoint& contact, const SolverPoint& point, const WorldInertia& first, const WorldInertia& second,
                   const ContactOptions& options, SolverTurns& out) {
  const Vector3 &n = contact.normal, &t = point.tangent[0].direction, &s = point.tangent[1].direction;
  out.rows = {ImpulseRow::turn(n, first, second), ImpulseRow::turn(t, first, second), ImpulseRow::turn(s, first, second)};
  const double r1 = out.rows[1].response, r2 = out.rows[2].response;
  const double r12 = t.dot(out.rows[2].turned[0]) + t.dot(out.rows[2].turned[1]);
  out.mass = {inverse_of(out.rows[0].response), inverse_of(0.5 * (r1 + r2) + std::hypot(0.5 * (r1 - r2), r12))};
  const Vector3 other = n.cross(contact.tangent);
  const Vector3 q = options.warm * (contact.turning_impulse[1] * contact.tangent + contact.turning_impulse[2] * other);
  out.impulse = {options.warm * contact.turning_impulse[0], q.dot(t), q.dot(s)};
}

void warm_contacts(const GroupPoints& own, RigidVelocity& first, RigidVelocity& second) {
  for (SolverPoint& c : own.points) {
    c.normal.apply(c.impulse, first, second);
    for (std::size_t k = 0; k < 2; ++k) c.tangent[k].apply(c.tangent_impulse[k], first, second);
  }
  for (SolverTurns& c : own.turns)
    for (std::size_t k = 0; k < 3; ++k) c.rows[k].apply(c.impulse[k], first, second);
}

void sweep_contacts(const SolverGroup& group, const GroupPoints& own, const ContactOptions& options, RigidVelocity& first,
                    RigidVelocity& second) {
  const RigidSurface& s = group.surface;
  const bool rubs = s.dynamic_friction > 0 || s.static_friction > 0 || options.law == FrictionLaw::printed;
  for (std::size_t i = 0; i < own.points.size(); ++i) {
    SolverPoint& c = own.points[i];
    c.change = 0;
    if (!options.exact()) {
      const double u = c.normal.velocity(first, second);
      const double value = std::max(0.0, c.impulse + (c.target - u) * c.normal_mass);
      const double step = value - c.impulse;
      c.impulse = value;
      if (step != 0) c.normal.apply(step, first, second);
      c.change = std::abs(step) * c.normal.response;
    }
    // Without pressure there is nothing to rub, nor to take back.
    if (rubs && (c.impulse > 0 || c.tangent_impulse[0] != 0 || c.tangent_impulse[1] != 0)) {
      const double a0 = c.tangent_impulse[0], b0 = c.tangent_impulse[1];
      double a = a0 - c.tangent_mass * c.tangent[0].velocity(first, second);
      double b = b0 - c.tangent_mass * c.tangent[1].velocity(first, second);
      limit_friction(s, options, c.impulse, a, b);
      c.tangent_impulse = {a, b};
      c.tangent[0].apply(a - a0, first, second);
      c.tangent[1].apply(b - b0, first, second);
      if (c.tangent_mass > 0) c.change = std::max(c.change, (std::abs(a - a0) + std::abs(b - b0)) / c.tangent_mass);
    }
    if (!own.turns.empty()) sweep_turns(s, c.impulse, own.turns[i], first, second);
  }
}

void push_contacts(std::span<SolverPoint> points, RigidVelocity& first, RigidVelocity& second) {
  for (SolverPoint& c : points) {
    const double u = c.normal.velocity(first, second);
    const double value = std::max(0.0, c.push_impulse + (c.push_target - u) * c.normal_mass);
    if (value != c.push_impulse) c.normal.apply(value - c.push_impulse, first, second);
    c.push_change = std::abs(value - c.push_impulse) * c.normal.response;
    c.push_impulse = value;
  }
}

}  // namespace meniscus::solids
