#include "meniscus/solids/integrators/incremental_potential.hpp"

#include <cmath>
#include <utility>

namespace meniscus::solids {

IncrementalPotential::IncrementalPotential(const BodyStep& step, PotentialTerm* term)
    : step_(step),
      x0_(step.positions()),
      term_(term),
      v0_(step.scratch()),
      force_(step.scratch()),
      damping_(step.scratch()),
      end_{step} {
  step.start(v0_);
  step.each_force([&](Force& force, const BodyInStep& b) { force.begin_step(b.of(x0_), step.dt()); });
}

void IncrementalPotential::positions(ConstPoints v, Points x) const {
  const double dt = step_.dt();
  nodes::each(step_.size(), [&](std::size_t i) { x[i] = x0_[i] + dt * v[i]; });
  if (held_by_step_)
    step_.hold_positions(StepTime::end, x);
  else if (!ends_.empty())
    nodes::each(step_.size(), [&](std::size_t i) {
      if (!step_.moves(i)) x[i] = ends_[i];
    });
}

void IncrementalPotential::set_minimum(ConstPoints v) {
  minimum_ = step_.scratch();
  slope_ = step_.scratch();
  const ScratchPoints x = step_.scratch();
  PotentialTerm* const term = std::exchange(term_, nullptr);
  tilted_ = false;
  evaluate(v, x, slope_);
  term_ = term;
  tilted_ = true;
  nodes::copy(v, minimum_);
}

PotentialValue IncrementalPotential::evaluate(ConstPoints v, Points x, Points r) const {
  const double dt = step_.dt();
  positions(v, x);
  nodes::clear(force_);
  nodes::clear(damping_);
  double elastic = 0, drag = 0;
  step_.each_force([&](const Force& force, const BodyInStep& b) {
    const ConstPoints own = b.of(ConstPoints(x));
    force.add_forces(own, b.of(force_));
    elastic += force.energy(own);
    if (force.has_drag())
      drag += force.add_drag(b.of(v), b.of(force_));
    else if (force.damped())
      force.add_damping(b.of(v), 1.0, b.of(damping_));
  });
  const double of_term = term_ == nullptr ? 0.0 : term_->evaluate(x, force_);
  if (!std::isfinite(of_term)) {
    nodes::clear(r);
    return {of_term, of_term, 0, 0};
  }
  using Sums = Eigen::Array<double, 5, 1>;
  const Sums sums = nodes::sum(step_.size(), Sums(Sums::Zero()), [&](std::size_t i) {
    Sums s = Sums::Zero();
    r[i].setZero();
    s[4] = v[i].dot(damping_[i]);
    if (!step_.moves(i)) return s;
    const double w = step_.inverse_mass(i);
    const mesh::Point gravity = step_.gravity(i), kick = dt * gravity;
    const mesh::Point change = v[i] - v0_[i] - kick;
    r[i] = change / w - dt * (force_[i] + damping_[i]);
    s[0] = change.squaredNorm() / w;
    s[1] = force_[i].squaredNorm();
    s[2] = gravity.squaredNorm() / (w * w);
    s[3] = damping_[i].squaredNorm();
    return s;
  });
  step_.project(r);
  PotentialValue value;
  value.potential = 0.5 * sums[0] + elastic + of_term + dt * (drag - 0.5 * sums[4]);
  value.size = 0.5 * sums[0] + std::abs(elastic) + std::abs(of_term) + dt * (std::abs(drag) + 0.5 * std::abs(sums[4]));
  if (tilted_) {
    const double tilt = nodes::sum(step_.size(), 0.0, [&](std::size_t i) {
      r[i] -= slope_[i];
      return slope_[i].dot(v[i] - minimum_[i]);
    });
    value.potential -= tilt;
    value.size += std::abs(tilt);
  }
  value.residual = std::sqrt(nodes::sum(step_.size(), 0.0, [&](std::size_t i) { return r[i].squaredNorm(); }));
  value.forces = dt * (std::sqrt(sums[1]) + std::sqrt(sums[2]) + std::sqrt(sums[3]));
  return value;
}

void IncrementalPotential::linearise(ConstPoints x, ConstPoints v, Tangent tangent) const {
  step_.each_force([&](Force& force, const BodyInStep& b) {
    force.linearise(b.of(x), tangent);
    if (force.has_drag()) force.linearise_drag(b.of(v));
  });
  if (term_ != nullptr) term_->linearise();
}

}  // namespace meniscus::solids
