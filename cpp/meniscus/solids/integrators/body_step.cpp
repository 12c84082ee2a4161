#include "meniscus/solids/integrators/body_step.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::solids {

BodyStep::BodyStep(DeformableBody& body, double dt, const NodeMotion& motion, Workspace& workspace)
    : body_(body),
      dt_(dt),
      motion_(motion),
      workspace_(workspace),
      inverse_mass_(workspace.take<double>(body.size())),
      damped_(body.damped()) {
  require(std::isfinite(dt) && dt > 0, "dt must be positive and finite, not ", dt);
  const std::size_t moved = body.constraints().moved().size();
  for (const ConstPoints& given :
       {motion.middle, motion.end, motion.start_velocity, motion.middle_velocity, motion.end_velocity}) {
    require(given.empty() || given.size() == moved, "the body moves ", moved, " nodes, but the motion is that of ", given.size());
    require(given.empty() == motion.end.empty(), "a motion has positions and velocities at all of its times");
    mesh::require_finite(given, "the motion of the moved nodes");
  }
  const auto x = body.positions();
  const auto v = body.velocities();
  const auto m = body.masses();
  double* const w = inverse_mass_.data();
  const Index bad = nodes::first(size(), [&](std::size_t i) {
    w[i] = 1 / m[i];
    return !(m[i] > 0) || !x[i].allFinite() || !v[i].allFinite();
  });
  if (bad < size()) {
    const auto i = static_cast<std::size_t>(bad);
    require(m[i] > 0, "masses must be positive, but that of node ", bad, " is ", m[i]);
    require(x[i].allFinite(), "positions must be finite, but that of node ", bad, " is not");
    require(false, "velocities must be finite, but that of node ", bad, " is not");
  }
  infinite_ = nodes::first(size(), [&](std::size_t i) { return w[i] == 0; }) < size();
}

void BodyStep::project(Points v) const {
  body_.constraints().project(v);
  if (infinite_)
    nodes::each(size(), [&](std::size_t i) {
      if (inverse_mass(i) == 0) v[i].setZero();
    });
}

const mesh::Point& BodyStep::moved(std::size_t k, StepTime when) const {
  switch (when) {
    case StepTime::start:
      break;
    case StepTime::middle:
      return motion_.middle_velocity[k];
    case StepTime::end:
      return motion_.end_velocity[k];
  }
  return motion_.start_velocity[k];
}

void BodyStep::hold_velocities(StepTime when, Points v) const {
  const Constraints& c = body_.constraints();
  // Moved nodes have no freedom, so this leaves them at rest until their own velocity is set.
  c.project(v);
  if (motion_.end.empty()) return;
  nodes::each(static_cast<Index>(c.moved().size()),
              [&](std::size_t k) { v[static_cast<std::size_t>(c.moved()[k])] = moved(k, when); });
}

void BodyStep::hold_mean_velocities(Points v) const {
  const Constraints& c = body_.constraints();
  c.project(v);
  if (motion_.end.empty()) return;
  const ConstPoints x = std::as_const(body_).positions();
  nodes::each(static_cast<Index>(c.moved().size()), [&](std::size_t k) {
    const auto i = static_cast<std::size_t>(c.moved()[k]);
    v[i] = (motion_.end[k] - x[i]) / dt_;
  });
}

void BodyStep::hold_positions(StepTime when, Points x) const {
  const Constraints& c = body_.constraints();
  const ConstPoints start = std::as_const(body_).positions();
  nodes::each(static_cast<Index>(c.constrained().size()), [&](std::size_t k) {
    const auto i = static_cast<std::size_t>(c.constrained()[k]);
    if (c.kind(c.constrained()[k]) != ConstraintKind::sliding) x[i] = start[i];
  });
  if (motion_.end.empty() || when == StepTime::start) return;
  const ConstPoints to = when == StepTime::middle ? motion_.middle : motion_.end;
  nodes::each(static_cast<Index>(c.moved().size()), [&](std::size_t k) { x[static_cast<std::size_t>(c.moved()[k])] = to[k]; });
}

void BodyStep::start(Points v) const {
  nodes::copy(std::as_const(body_).velocities(), v);
  hold_velocities(StepTime::start, v);
}

void BodyStep::accelerations(ConstPoints x, ConstPoints v, Points a) const {
  body_.forces_at(x, v, a);
  const mesh::Point g = body_.gravity();
  nodes::each(size(), [&](std::size_t i) {
    const double w = inverse_mass(i);
    a[i] = w > 0 ? mesh::Point(g + w * a[i]) : mesh::Point(mesh::Point::Zero());
  });
  body_.constraints().project(a);
}

double BodyStep::check(ConstPoints x, ConstPoints v) const {
  const double speed = nodes::largest(size(), [&](std::size_t i) { return v[i].squaredNorm() + 0 * x[i].sum(); });
  if (!std::isfinite(speed)) {
    const Index bad = nodes::first(size(), [&](std::size_t i) { return !x[i].allFinite() || !v[i].allFinite(); });
    require(bad == size(), "the step of ", dt_, " s leaves node ", bad,
            " with a position or velocity that is not finite: it was ", "unstable, and the body is as before");
  }
  return std::sqrt(speed);
}

double BodyStep::commit(ConstPoints x, ConstPoints v) {
  const double speed = check(x, v);
  const NoInterrupts whole;
  const Points to_x = body_.positions();
  const Points to_v = body_.velocities();
  nodes::each(size(), [&](std::size_t i) {
    to_x[i] = x[i];
    to_v[i] = v[i];
  });
  body_.set_time(body_.time() + dt_);
  body_.forget_previous();
  return speed;
}

}  // namespace meniscus::solids
