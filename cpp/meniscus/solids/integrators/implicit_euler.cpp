// Implicit Euler: one linear solve, or Newton's method with a line search on the incremental potential.
#include "meniscus/solids/integrators/integrators.hpp"
#include "meniscus/solids/integrators/velocity_system.hpp"

#include <cmath>
#include <limits>

namespace meniscus::solids {
namespace {

/// Newton's method on M (v - v0) - dt f(x0 + dt v) - dt D(x0) v = 0, the minimum of an incremental potential
///   |v - v0 - dt g|_M^2 / 2 + energy(x0 + dt v) - dt v D(x0) v / 2
/// with a line search on it.
class Newton {
 public:
  Newton(const BodyStep& step, const StepOptions& options, StepReport& report)
      : step_(step),
        options_(options),
        report_(report),
        x0_(std::as_const(step.body()).positions()),
        v0(step.scratch()),
        v(step.scratch()),
        x(step.scratch()),
        force_(step.scratch()),
        damping_(step.scratch()),
        direction_(step.scratch()),
        direction_damping_(step.scratch()),
        residual_(step.scratch()),
        trial_(step.scratch()) {}

  bool run() {
    NewtonInfo& info = report_.newton;
    report_.used_newton = true;
    report_.solve_count = 1;
    begin();
    State now = evaluate(v);
    set_damping(v, damping_);
    double norm = residual(v, damping_, residual_);
    while (true) {
      info.residual = norm / now.scale;
      info.converged = norm <= options_.newton_tolerance * now.scale;
      if (info.converged || info.iterations >= options_.max_newton || !std::isfinite(norm)) break;
      ++info.iterations;
      if (!find_direction()) break;
      if (negligible()) {
        // The remaining residual moves no position by more than round-off; further steps would only change round-off.
        nodes::each(step_.size(), [&](std::size_t i) { v[i] += direction_[i]; });
        place(v);
        info.round_off = info.converged = true;
        break;
      }
      const double slope = nodes::sum(step_.size(), 0.0, [&](std::size_t i) { return direction_[i].dot(residual_[i]); });
      if (!search(slope, now, norm)) break;
    }
    return info.converged;
  }

 private:
  /// Full steps that are taken where neither the potential nor the residual tells that they are good.
  static constexpr int max_blind_steps = 30;

  struct State {
    double energy;  // incremental potential without damping
    double scale;   // dt |forces|
  };

  void begin() {
    step_.start(v0);
    nodes::copy(v0, v);
    step_.hold_mean_velocities(v);
    // A body that the present velocity would wreck starts at rest.
    const double moving = evaluate(v).energy;
    nodes::copy(v, trial_);
    nodes::clear(v);
    restore_constrained(trial_, v);
    const double resting = evaluate(v).energy;
    if (moving <= resting) nodes::copy(trial_, v);
  }

  /// Copies what is not free to move.
  void restore_constrained(ConstPoints from, Points to) {
    nodes::copy(from, direction_);
    step_.project(direction_);
    nodes::each(step_.size(), [&](std::size_t i) { to[i] += from[i] - direction_[i]; });
  }

  void place(ConstPoints at) {
    nodes::each(step_.size(), [&](std::size_t i) { x[i] = x0_[i] + step_.dt() * at[i]; });
    step_.hold_positions(StepTime::end, x);
  }

  /// Positions, elastic forces and the potential at velocities.
  State evaluate(ConstPoints at) {
    place(at);
    const DeformableBody& body = step_.body();
    body.forces_at(x, {}, force_);
    const mesh::Point kick = step_.dt() * body.gravity();
    const Constraints& c = body.constraints();
    using Sums = Eigen::Array3d;
    const Sums sums = nodes::sum(step_.size(), Sums(Sums::Zero()), [&](std::size_t i) {
      const double w = step_.inverse_mass(i);
      const ConstraintKind kind = c.kind(static_cast<Index>(i));
      if (w == 0 || kind == ConstraintKind::fixed || kind == ConstraintKind::moved) return Sums(Sums::Zero());
      return Sums((at[i] - v0[i] - kick).squaredNorm() / w, force_[i].squaredNorm(), body.gravity().squaredNorm() / (w * w));
    });
    const double forces = std::sqrt(sums[1]) + std::sqrt(sums[2]) + damping_size_;
    return {0.5 * sums[0] + body.elastic_energy(x), step_.dt() * forces + 1e-12};
  }

  /// to = D(x0) at.
  void set_damping(ConstPoints at, Points to) {
    nodes::clear(to);
    if (!step_.damped()) return;
    for (const auto& force : step_.body().forces()) {
      if (!force->damped()) continue;
      force->linearise(x0_, options_.tangent);
      force->add_damping(at, 1.0, to);
    }
  }

  /// The residual at velocities `at` with positions and forces of the last `evaluate`; returns its norm.
  double residual(ConstPoints at, ConstPoints damping, Points r) {
    const double dt = step_.dt();
    const mesh::Point kick = dt * step_.body().gravity();
    nodes::each(step_.size(), [&](std::size_t i) {
      const double w = step_.inverse_mass(i);
      r[i] = w > 0 ? mesh::Point((at[i] - v0[i] - kick) / w - dt * (force_[i] + damping[i])) : mesh::Point(mesh::Point::Zero());
    });
    step_.project(r);
    return std::sqrt(nodes::sum(step_.size(), 0.0, [&](std::size_t i) { return r[i].squaredNorm(); }));
  }

  bool find_direction() {
    numerics::SolveInfo& info = report_.solves[0];
    const double dt = step_.dt();
    const auto solve = [&](Tangent tangent) {
      for (const auto& force : step_.body().forces()) force->linearise(x, tangent);
      // In velocities: M^-1 times the residual is the right-hand side.
      nodes::each(step_.size(), [&](std::size_t i) { trial_[i] = -step_.inverse_mass(i) * residual_[i]; });
      nodes::clear(direction_);
      solve_velocities(step_, dt, dt * dt, trial_, direction_, options_.solve, options_.precondition, info);
      report_.newton.linear_iterations += info.iterations;
    };
    solve(options_.tangent);
    if (info.end == numerics::SolveEnd::indefinite_matrix && options_.tangent != Tangent::definite) {
      report_.used_definite_tangent = true;
      solve(Tangent::definite);
    }
    // An unfinished solve that began at zero still points downhill.
    return info.end != numerics::SolveEnd::not_a_number;
  }

  /// Goes along the direction as far as the potential falls enough. Where rounding errors hide whether it falls, or forces have
  /// no energy that could, as far as the residual falls.
  bool search(double slope, State& now, double& norm) {
    const bool damped = step_.damped();
    if (damped) set_damping(direction_, direction_damping_);
    const double dt = step_.dt();
    const double along = damped ? dot(damping_, direction_) : 0.0;
    const double across = damped ? dot(direction_damping_, direction_) : 0.0;
    const bool visible = -1e-4 * slope > 1e-14 * std::abs(now.energy);
    double length = 1, best = 0, best_norm = (1 - 1e-4) * norm;
    State there = now;
    const auto go = [&] {
      nodes::each(step_.size(), [&](std::size_t i) { trial_[i] = v[i] + length * direction_[i]; });
      there = evaluate(trial_);
    };
    bool found = false;
    for (int halvings = 0; halvings < 40; ++halvings) {
      go();
      const double change = there.energy - now.energy - dt * (length * along + 0.5 * length * length * across);
      found = visible && change <= 1e-4 * length * slope;
      if (found) break;
      if (std::isfinite(change) && halvings < 4) {
        const double size = trial_residual(length);
        if (size < best_norm) {
          best_norm = size;
          best = length;
        }
      }
      if (!visible && (best > 0 || halvings == 3)) break;
      ++report_.newton.halvings;
      length *= 0.5;
    }
    if (!found && best == 0 && !visible && blind_steps_ < max_blind_steps) {
      // With a tangent that is not the exact one, residuals may rise for a step or two while the potential falls.
      length = 1;
      go();
      const double change = there.energy - now.energy - dt * (along + 0.5 * across);
      if (change <= 1e-13 * std::abs(now.energy)) {
        ++blind_steps_;
        best = 1;
      }
    }
    if (!found && best == 0) {
      now = evaluate(v);
      return false;
    }
    if (!found && length != best) {
      length = best;
      go();
    }
    nodes::copy(trial_, v);
    if (damped) {
      nodes::each(step_.size(), [&](std::size_t i) { damping_[i] += length * direction_damping_[i]; });
      there.scale += dt * (std::sqrt(dot(damping_, damping_)) - damping_size_);
      damping_size_ = std::sqrt(dot(damping_, damping_));
    }
    now = there;
    norm = residual(v, damping_, residual_);
    return true;
  }

  double trial_residual(double length) {
    const double dt = step_.dt();
    const bool damped = step_.damped();
    const mesh::Point kick = dt * step_.body().gravity();
    const ScratchPoints r = step_.scratch();
    nodes::each(step_.size(), [&](std::size_t i) {
      const double w = step_.inverse_mass(i);
      mesh::Point f = force_[i];
      if (damped) f += damping_[i] + length * direction_damping_[i];
      r[i] = w > 0 ? mesh::Point((trial_[i] - v0[i] - kick) / w - dt * f) : mesh::Point(mesh::Point::Zero());
    });
    step_.project(r);
    return std::sqrt(dot(r, r));
  }

  bool negligible() const {
    const double moves = step_.dt() * nodes::largest(step_.size(), [&](std::size_t i) { return direction_[i].norm(); });
    const double size = nodes::largest(step_.size(), [&](std::size_t i) { return x[i].norm(); });
    return moves <= 64 * std::numeric_limits<double>::epsilon() * size;
  }

  double dot(ConstPoints a, ConstPoints b) const {
    return nodes::sum(step_.size(), 0.0, [&](std::size_t i) { return a[i].dot(b[i]); });
  }

  const BodyStep& step_;
  const StepOptions& options_;
  StepReport& report_;
  ConstPoints x0_;

 public:
  ScratchPoints v0, v, x;

 private:
  ScratchPoints force_, damping_, direction_, direction_damping_, residual_, trial_;
  double damping_size_ = 0;
  int blind_steps_ = 0;
};

}  // namespace

bool implicit_euler(BodyStep& step, const StepOptions& options, StepReport& report) {
  if (options.newton) {
    Newton newton(step, options, report);
    report.converged = newton.run();
    if (!report.converged && !options.accept_unconverged) return false;
    nodes::copy(newton.v, newton.v0);
    step.hold_velocities(StepTime::end, newton.v0);
    report.max_speed = step.commit(newton.x, newton.v0);
    return true;
  }
  const ScratchPoints v0 = step.scratch(), v = step.scratch(), x1 = step.scratch();
  step.start(v0);
  nodes::copy(v0, v);
  step.hold_mean_velocities(v);
  report.solve_count = 1;
  report.converged = solve_velocity(step, std::as_const(step.body()).positions(), v0, step.dt(), step.dt(), options, v,
                                    report.solves[0], report.used_definite_tangent);
  if (!report.converged && !options.accept_unconverged) return false;
  advance_positions(step, v, x1);
  step.hold_velocities(StepTime::end, v);
  report.max_speed = step.commit(x1, v);
  return true;
}

}  // namespace meniscus::solids
