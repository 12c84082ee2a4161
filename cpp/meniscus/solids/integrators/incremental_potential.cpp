#include "meniscus/solids/integrators/incremental_potential.hpp"

#include <cmath>

namespace meniscus::solids {

IncrementalPotential::IncrementalPotential(const BodyStep& step)
    : step_(step),
      x0_(std::as_const(step.body()).positions()),
      v0_(step.scratch()),
      force_(step.scratch()),
      damping_(step.scratch()),
      end_{step.body()} {
  step.start(v0_);
  for (const auto& force : step.body().forces()) force->begin_step(x0_, step.dt());
}

bool IncrementalPotential::moves(std::size_t i) const {
  const ConstraintKind kind = step_.body().constraints().kind(static_cast<Index>(i));
  return step_.inverse_mass(i) > 0 && kind != ConstraintKind::fixed && kind != ConstraintKind::moved;
}

PotentialValue IncrementalPotential::evaluate(ConstPoints v, Points x, Points r) const {
  const double dt = step_.dt();
  nodes::each(step_.size(), [&](std::size_t i) { x[i] = x0_[i] + dt * v[i]; });
  step_.hold_positions(StepTime::end, x);
  nodes::clear(force_);
  nodes::clear(damping_);
  double elastic = 0, drag = 0;
  for (const auto& force : step_.body().forces()) {
    force->add_forces(x, force_);
    elastic += force->energy(x);
    if (force->has_drag())
      drag += force->add_drag(v, force_);
    else if (force->damped())
      force->add_damping(v, 1.0, damping_);
  }
  const mesh::Point gravity = step_.body().gravity(), kick = dt * gravity;
  using Sums = Eigen::Array<double, 5, 1>;
  const Sums sums = nodes::sum(step_.size(), Sums(Sums::Zero()), [&](std::size_t i) {
    Sums s = Sums::Zero();
    r[i].setZero();
    s[4] = v[i].dot(damping_[i]);
    if (!moves(i)) return s;
    const double w = step_.inverse_mass(i);
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
  value.potential = 0.5 * sums[0] + elastic + dt * (drag - 0.5 * sums[4]);
  value.size = 0.5 * sums[0] + std::abs(elastic) + dt * (std::abs(drag) + 0.5 * std::abs(sums[4]));
  value.residual = std::sqrt(nodes::sum(step_.size(), 0.0, [&](std::size_t i) { return r[i].squaredNorm(); }));
  value.forces = dt * (std::sqrt(sums[1]) + std::sqrt(sums[2]) + std::sqrt(sums[3]));
  return value;
}

void IncrementalPotential::linearise(ConstPoints x, ConstPoints v, Tangent tangent) const {
  for (const auto& force : step_.body().forces()) {
    force->linearise(x, tangent);
    if (force->has_drag()) force->linearise_drag(v);
  }
}

}  // namespace meniscus::solids
