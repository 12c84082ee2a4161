#include "meniscus/solids/contact/barrier_step.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

/// Iterations between two moves of what goes given ways.
constexpr int between = 3;
constexpr int most_halvings = 60;
/// Tolerance of speeds, relative to the greatest.
constexpr double of_speed = 1e-3;
/// The first stiffness is at most so many times the least one, also where it balances more.
constexpr double most_balance = 1e3;

StepOptions newton_options(const BarrierStepOptions& options) {
  StepOptions o;
  o.solve.tolerance = options.linear_tolerance;
  o.solve.max_iterations = options.max_linear_iterations;
  o.newton_tangent = Tangent::definite;
  o.preconditioner = Preconditioner::blocks;
  return o;
}

double largest_gravity(const BodyStep& step) {
  double most = 0;
  for (const BodyInStep& b : step.bodies()) most = std::max(most, b.body->gravity().norm());
  return most;
}

}  // namespace

void free_ends(const BodyStep& step, Points x) {
  const ScratchPoints mean = step.scratch();
  step.start(mean);
  step.hold_mean_velocities(mean);
  nodes::each(step.size(), [&](std::size_t i) { x[i] = step.positions()[i] + step.dt() * mean[i]; });
  step.hold_positions(StepTime::end, x);
}

BarrierStep::BarrierStep(BodyStep& step, BarrierContact& contact, ConstPoints ends, const BarrierStepOptions& options)
    : step_(step),
      contact_(contact),
      ends_(ends),
      options_(options),
      newton_options_(newton_options(options)),
      newton_(step, newton_options_, report_, &contact) {
  const double dt = step.dt();
  const ScratchPoints v = step.scratch();
  step.start(v);
  const double start = nodes::largest(step.size(), [&](std::size_t i) { return v[i].norm(); });
  const ConstPoints x = step.positions();
  const double way = nodes::largest(step.size(), [&](std::size_t i) { return (ends[i] - x[i]).cwiseAbs().maxCoeff(); });
  least_speed_ = of_speed * (largest_gravity(step) * dt + std::max({start, way / dt, contact.largest_way() / dt}));
}

bool BarrierStep::begin() {
  newton_.potential().hold_at({});
  const ScratchPoints rest = step_.scratch();
  nodes::clear(rest);
  newton_.begin(rest);
  return newton_.value().finite();
}

void BarrierStep::set_minimum(ConstPoints x) {
  const ScratchPoints v = step_.scratch();
  nodes::each(step_.size(), [&](std::size_t i) { v[i] = (x[i] - step_.positions()[i]) / step_.dt(); });
  newton_.potential().hold_at({});
  newton_.potential().set_minimum(v);
}

SpeedGoal BarrierStep::goal() const {
  if (options_.tolerance > 0) return {.least = options_.tolerance};
  return {least_speed_, of_speed, options_.most, contact_.fastest()};
}

double BarrierStep::tolerance() const {
  return goal().at(nodes::largest(step_.size(), [&](std::size_t i) { return newton_.velocities()[i].norm(); }));
}

double BarrierStep::least_stiffness() const {
  struct Sum {
    double mass = 0, count = 0;
  } sum;
  for (Index i = 0; i < step_.size(); ++i) {
    if (!step_.moves(i)) continue;
    sum.mass += 1 / step_.inverse_mass(i);
    sum.count += 1;
  }
  const double h = contact_.solids().activation(), dt = step_.dt();
  return sum.count == 0 ? 1.0 : sum.mass / sum.count * (largest_gravity(step_) + h / (dt * dt)) * h;
}

double BarrierStep::balance() {
  const ScratchPoints others = step_.scratch(), x = step_.scratch(), pressed = step_.scratch();
  const double kept = contact_.stiffness();
  contact_.set_stiffness(0, 0);
  newton_.potential().evaluate(newton_.velocities(), x, others);
  contact_.set_stiffness(kept, 0);
  nodes::clear(pressed);
  contact_.add_barrier_forces(1, pressed);
  step_.project(pressed);
  using Sums = Eigen::Array2d;
  const Sums sums = nodes::sum(step_.size(), Sums(Sums::Zero()), [&](std::size_t i) {
    return Sums(others[i].dot(pressed[i]) / step_.dt(), pressed[i].squaredNorm());
  });
  return sums[1] > 0 ? std::max(0.0, sums[0] / sums[1]) : 0.0;
}

void BarrierStep::meet(double kept) {
  if (kept > 0) contact_.lag(newton_.positions(), kept);
  const double least = least_stiffness(), fixed = contact_.fixed_stiffness();
  // A larger one would throw apart what already touches, as after a change to shorter steps.
  const bool touching = kept > 0 && std::isfinite(contact_.closest().first);
  double stiffness = kept;
  if (fixed > 0)
    stiffness = fixed;
  else if (!touching)
    stiffness = std::max({kept, least, kept > 0 ? 0.0 : std::min(balance(), most_balance * least)});
  contact_.set_stiffness(stiffness, least);
  if (kept == 0) contact_.lag(newton_.positions(), stiffness);
}

bool BarrierStep::approach() {
  const ConstPoints x = step_.positions();
  const auto moved = [&](std::size_t i) { return !step_.moves(i) && ends_[i] != x[i]; };
  if (!contact_.moves() && nodes::first(step_.size(), moved) == step_.size()) contact_.skip_to_end();
  while (contact_.fraction() < 1) {
    if (increments_ == options_.increments || !move()) return false;
    ++increments_;
    if (contact_.fraction() < 1) minimise(between);
  }
  newton_.potential().hold_at(ends_);
  return true;
}

bool BarrierStep::move() {
  const ScratchPoints start = step_.scratch(), given = step_.scratch(), from = step_.scratch(), to = step_.scratch();
  newton_.begin(newton_.velocities());
  nodes::copy(newton_.velocities(), start);
  nodes::copy(newton_.positions(), from);
  nodes::each(step_.size(), [&](std::size_t i) {
    given[i] = step_.moves(i) ? mesh::Point(0, 0, 0) : mesh::Point((ends_[i] - from[i]) / step_.dt());
  });
  newton_.follow(given);
  nodes::copy(newton_.direction(), given);
  const auto place = [&](double alpha) {
    nodes::each(step_.size(), [&](std::size_t i) { to[i] = start[i] + alpha * given[i]; });
  };
  place(1);
  newton_.potential().hold_at(ends_);
  const ScratchPoints ahead = step_.scratch();
  newton_.potential().positions(to, ahead);
  contact_.aim(true);
  double alpha = contact_.free_part(from, ahead);
  contact_.aim(false);
  for (int halving = 0; halving < most_halvings; ++halving, alpha *= 0.5) {
    place(alpha);
    newton_.potential().hold_at(alpha == 1 ? ends_ : ConstPoints());
    contact_.advance(alpha);
    newton_.begin(to);
    if (!newton_.value().finite() || !contact_.is_free(from, newton_.positions())) continue;
    contact_.come(newton_.positions());
    return true;
  }
  contact_.retreat();
  newton_.potential().hold_at({});
  newton_.begin(start);
  return false;
}

double BarrierStep::commit() {
  const ConstPoints before = step_.positions(), x = positions();
  const ScratchPoints v = step_.scratch();
  nodes::each(step_.size(), [&](std::size_t i) { v[i] = (x[i] - before[i]) / step_.dt(); });
  step_.hold_velocities(StepTime::end, v);
  return step_.commit(x, v);
}

double BarrierStep::evaluate(ConstPoints x, Points gradient) {
  const double dt = step_.dt();
  const ScratchPoints v = step_.scratch();
  nodes::each(step_.size(), [&](std::size_t i) { v[i] = (x[i] - step_.positions()[i]) / dt; });
  newton_.begin(v);
  nodes::each(step_.size(), [&](std::size_t i) { gradient[i] = newton_.residual()[i] / dt; });
  return newton_.value().potential;
}

void BarrierStep::direction(ConstPoints x, Points out) {
  evaluate(x, out);
  newton_.follow({});
  nodes::each(step_.size(), [&](std::size_t i) { out[i] = step_.dt() * newton_.direction()[i]; });
}

}  // namespace meniscus::solids
