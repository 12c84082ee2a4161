#include "meniscus/solids/integrators/body_step.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace meniscus::solids {
namespace {

const mesh::Point& moved(const NodeMotion& motion, std::size_t k, StepTime when) {
  switch (when) {
    case StepTime::start:
      break;
    case StepTime::middle:
      return motion.middle_velocity[k];
    case StepTime::end:
      return motion.end_velocity[k];
  }
  return motion.start_velocity[k];
}

}  // namespace

BodyStep::BodyStep(DeformableBody& body, double dt, const NodeMotion& motion, Workspace& workspace)
    : BodyStep({}, Own{{&body, motion}}, dt, workspace) {}

BodyStep::BodyStep(std::span<BodyInStep> bodies, double dt, Workspace& workspace) : BodyStep(bodies, Own{}, dt, workspace) {}

BodyStep::BodyStep(std::span<BodyInStep> bodies, const Own& own, double dt, Workspace& workspace)
    : own_(own),
      bodies_(bodies.empty() ? std::span<const BodyInStep>(&own_.body, 1) : bodies),
      size_(bodies.empty() ? own.body.size() : number(bodies)),
      dt_(dt),
      workspace_(workspace),
      inverse_mass_(workspace.take<double>(size_)),
      gravity_(bodies_[0].body->gravity()),
      held_(bodies_, size_, workspace) {
  require(std::isfinite(dt) && dt > 0, "dt must be positive and finite, not ", dt);
  check_motions();
  gather();
  double* const w = inverse_mass_.data();
  for (const BodyInStep& b : bodies_) {
    damped_ = damped_ || b.body->damped();
    const auto x = std::as_const(*b.body).positions(), v = std::as_const(*b.body).velocities();
    const auto m = std::as_const(*b.body).masses();
    const Index bad = nodes::first(b.size(), [&](std::size_t i) {
      w[b.node(i)] = 1 / m[i];
      return !(m[i] > 0) || !x[i].allFinite() || !v[i].allFinite();
    });
    if (bad == b.size()) continue;
    const Index i = bad;
    // Where there are several bodies, callers know them by their numbers.
    const std::string of = bodies.size() < 2 ? "" : " of body " + std::to_string(&b - bodies_.data());
    require(m[i] > 0, "masses must be positive, but that of node ", bad, of, " is ", m[i]);
    require(x[i].allFinite(), "positions must be finite, but that of node ", bad, of, " is not");
    require(false, "velocities must be finite, but that of node ", bad, of, " is not");
  }
  infinite_ = nodes::first(size(), [&](std::size_t i) { return w[i] == 0; }) < size();
}

Index BodyStep::number(std::span<BodyInStep> bodies) {
  Index first = 0;
  for (BodyInStep& b : bodies) {
    b.first = first;
    first += b.size();
  }
  require(first <= 2147483647, "the bodies have too many nodes: ", first);
  return first;
}

void BodyStep::check_motions() const {
  for (const BodyInStep& b : bodies_) {
    const NodeMotion& m = b.motion;
    const std::size_t moved = b.body->constraints().moved().size();
    for (const ConstPoints& given : {m.middle, m.end, m.start_velocity, m.middle_velocity, m.end_velocity}) {
      require(given.empty() || given.size() == moved, "the body moves ", moved, " nodes, but the motion is that of ",
              given.size());
      require(given.empty() == m.end.empty(), "a motion has positions and velocities at all of its times");
      mesh::require_finite(given, "the motion of the moved nodes");
    }
  }
}

void BodyStep::gather() {
  if (bodies_.size() == 1) {
    positions_ = std::as_const(*bodies_[0].body).positions();
    velocities_ = std::as_const(*bodies_[0].body).velocities();
    return;
  }
  position_memory_ = scratch();
  velocity_memory_ = scratch();
  positions_ = position_memory_;
  velocities_ = velocity_memory_;
  for (const BodyInStep& b : bodies_) {
    nodes::copy(std::as_const(*b.body).positions(), b.of(position_memory_));
    nodes::copy(std::as_const(*b.body).velocities(), b.of(velocity_memory_));
  }
  if (std::all_of(bodies_.begin(), bodies_.end(), [&](const BodyInStep& b) { return b.body->gravity() == gravity_; })) return;
  gravity_memory_ = workspace_.take<mesh::Point>(size_);
  for (const BodyInStep& b : bodies_)
    nodes::each(b.size(), [&](std::size_t i) { gravity_memory_.data()[b.node(i)] = b.body->gravity(); });
}

void BodyStep::set_drags(std::span<const std::int32_t> nodes, std::span<const double> drags) {
  require(nodes.size() == drags.size(), "there must be one drag per node, not ", drags.size(), " for ", nodes.size());
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    require(nodes[k] >= 0 && nodes[k] < size_, "drag ", k, " is of node ", nodes[k], ", but there are ", size_);
    require(std::isfinite(drags[k]) && drags[k] >= 0, "drags must be finite and not negative, but that of node ", nodes[k],
            " is ", drags[k]);
  }
  dragged_ = !nodes.empty();
  if (!dragged_) return;
  if (!drags_) drags_ = workspace_.take<double>(size_);
  nodes::each(size_, [&](std::size_t i) { drags_.data()[i] = 0; });
  for (std::size_t k = 0; k < nodes.size(); ++k) drags_.data()[nodes[k]] = drags[k];
}

void BodyStep::project(Points v) const {
  held_.project(v);
  if (infinite_)
    nodes::each(size(), [&](std::size_t i) {
      if (inverse_mass(i) == 0) v[i].setZero();
    });
}

void BodyStep::hold_contacts(ConstPoints given, Points v) const {
  nodes::each(static_cast<Index>(held_.touching().size()), [&](std::size_t k) {
    const Index i = held_.touching()[k];
    v[i] += held_.across()[k] * (given[i] - v[i]);
  });
}

void BodyStep::hold_velocities(StepTime when, Points v) const {
  for (const BodyInStep& b : bodies_) {
    const Constraints& c = b.body->constraints();
    const Points own = b.of(v);
    // Moved nodes have no freedom, so this leaves them at rest until their own velocity is set.
    c.project(own);
    if (b.motion.end.empty()) continue;
    nodes::each(static_cast<Index>(c.moved().size()), [&](std::size_t k) { own[c.moved()[k]] = moved(b.motion, k, when); });
  }
}

void BodyStep::hold_mean_velocities(Points v) const {
  for (const BodyInStep& b : bodies_) {
    const Constraints& c = b.body->constraints();
    const Points own = b.of(v);
    c.project(own);
    if (b.motion.end.empty()) continue;
    const ConstPoints x = b.of(positions());
    nodes::each(static_cast<Index>(c.moved().size()), [&](std::size_t k) {
      const Index i = c.moved()[k];
      own[i] = (b.motion.end[k] - x[i]) / dt_;
    });
  }
}

void BodyStep::hold_positions(StepTime when, Points x) const {
  for (const BodyInStep& b : bodies_) {
    const Constraints& c = b.body->constraints();
    const Points own = b.of(x);
    const ConstPoints start = b.of(positions());
    nodes::each(static_cast<Index>(c.constrained().size()), [&](std::size_t k) {
      const Index i = c.constrained()[k];
      if (c.kind(c.constrained()[k]) != ConstraintKind::sliding) own[i] = start[i];
    });
    if (b.motion.end.empty() || when == StepTime::start) continue;
    const ConstPoints to = when == StepTime::middle ? b.motion.middle : b.motion.end;
    nodes::each(static_cast<Index>(c.moved().size()), [&](std::size_t k) { own[c.moved()[k]] = to[k]; });
  }
}

void BodyStep::start(Points v) const {
  nodes::copy(velocities(), v);
  hold_velocities(StepTime::start, v);
}

bool BodyStep::has_forces() const {
  return std::any_of(bodies_.begin(), bodies_.end(), [](const BodyInStep& b) { return !b.body->forces().empty(); });
}

void BodyStep::linearise(ConstPoints x, Tangent tangent) const {
  each_force([&](Force& force, const BodyInStep& b) { force.linearise(b.of(x), tangent); });
  linearised_at_ = x;
}

void BodyStep::accelerations(ConstPoints x, ConstPoints v, Points a) const {
  for (const BodyInStep& b : bodies_) b.body->forces_at(b.of(x), b.of(v), b.of(a));
  nodes::each(size(), [&](std::size_t i) {
    const double w = inverse_mass(i);
    a[i] = w > 0 ? mesh::Point(gravity(i) + w * a[i]) : mesh::Point(mesh::Point::Zero());
  });
  held_.project_lasting(a);
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
  for (const BodyInStep& b : bodies_) {
    nodes::copy(b.of(x), b.body->positions());
    nodes::copy(b.of(v), b.body->velocities());
    b.body->set_time(b.body->time() + dt_);
    b.body->forget_previous();
  }
  return speed;
}

}  // namespace meniscus::solids
