// Newmark step of a deformable body, and the stages that it consists of.
#include "meniscus/core/error.hpp"
#include "meniscus/solids/integrators/energy_balance.hpp"
#include "meniscus/solids/integrators/integrators.hpp"
#include "meniscus/solids/integrators/time_step.hpp"
#include "meniscus/solids/integrators/velocity_system.hpp"

#include <cmath>
#include <limits>
#include <optional>

namespace meniscus::solids {

bool solve_velocity(const BodyStep& step, ConstPoints x, ConstPoints v0, double h, double elastic_dt, const StepOptions& options,
                    Points v, numerics::SolveInfo& info, bool& used_definite_tangent) {
  const ScratchPoints u = step.scratch();
  step.accelerations(x, {}, u);
  nodes::each(step.size(), [&](std::size_t i) { u[i] = (v0[i] + h * u[i]).eval(); });
  const auto linearise = [&](Tangent tangent) {
    if (step.damped() || elastic_dt > 0)
      for (const auto& force : step.body().forces()) force->linearise(x, tangent);
  };
  linearise(options.tangent);
  if (solve_velocities(step, h, h * elastic_dt, u, v, options.solve, options.precondition, info)) return true;
  if (info.end != numerics::SolveEnd::indefinite_matrix || options.tangent == Tangent::definite) return false;
  used_definite_tangent = true;
  linearise(Tangent::definite);
  return solve_velocities(step, h, h * elastic_dt, u, v, options.solve, options.precondition, info);
}

void guess_velocity(const BodyStep& step, ConstPoints v0, Points v) {
  nodes::copy(v0, v);
  const Constraints& constraints = step.body().constraints();
  constraints.project(v);
  for (const std::int32_t node : constraints.moved()) v[static_cast<std::size_t>(node)] = v0[static_cast<std::size_t>(node)];
}

void advance_positions(const BodyStep& step, ConstPoints v, Points x1) {
  const ConstPoints x0 = std::as_const(step.body()).positions();
  nodes::each(step.size(), [&](std::size_t i) { x1[i] = x0[i] + step.dt() * v[i]; });
  step.hold_positions(StepTime::end, x1);
}

void extrapolate_velocity(const BodyStep& step, ConstPoints half, ConstPoints v0, Points v1) {
  nodes::each(step.size(), [&](std::size_t i) { v1[i] = (2 * half[i] - v0[i]).eval(); });
  step.hold_velocities(StepTime::end, v1);
}

namespace {

/// Whether a step has gained energy, beyond what the solves leave open. The variants that lose no energy may gain a thousandth:
/// what a nonlinear motion gives them at one time it takes at another. What `first_full_step` keeps, in linear systems, is the
/// energy plus h^2 / 2 (force + weight)^2 / mass.
bool gains(const EnergyBalance::Change& change, const StepOptions& options, double dt) {
  const bool first =
      options.elasticity == ImplicitElasticity::first_half_step || options.elasticity == ImplicitElasticity::first_full_step;
  const bool keeps = first && options.finish == NewmarkFinish::trapezoid;
  const double slack = (2 * options.solve.tolerance + (keeps ? 1e-3 : 0)) * change.scale + 1e-12 * change.elastic;
  if (!keeps || options.elasticity == ImplicitElasticity::first_half_step) return !(change.gain <= slack);
  return !(change.gain - 0.125 * dt * dt * change.forces <= slack && change.gain <= 0.1 * change.scale);
}

}  // namespace

double newmark_stability(ImplicitElasticity elasticity, NewmarkFinish finish) {
  const bool backward = finish == NewmarkFinish::backward_euler;
  if (elasticity == ImplicitElasticity::none) return backward ? std::sqrt(2.0) : 2.0;
  return backward && elasticity == ImplicitElasticity::first_half_step ? 2.0 : std::numeric_limits<double>::infinity();
}

bool newmark(BodyStep& step, const StepOptions& options, StepReport& report) {
  const double dt = step.dt(), h = 0.5 * dt;
  const auto is = [&](auto... which) { return ((options.elasticity == which) || ...); };
  const double first = is(ImplicitElasticity::none)                                             ? 0.0
                       : is(ImplicitElasticity::half_step, ImplicitElasticity::first_half_step) ? h
                                                                                                : dt;
  const double second = is(ImplicitElasticity::half_step, ImplicitElasticity::full_step) ? first : 0.0;
  const ConstPoints x0 = std::as_const(step.body()).positions();
  const ScratchPoints v0 = step.scratch(), v = step.scratch(), x1 = step.scratch();
  const auto failed = [&](bool converged) {
    report.solve_count++;
    report.converged = report.converged && converged;
    return !converged && !options.accept_unconverged;
  };

  const double limit = newmark_stability(options.elasticity, options.finish);
  if (options.safeguard && std::isfinite(limit)) {
    const double longest = 0.5 * limit * elastic_time_step(step.body(), step.workspace());
    require(dt <= longest, "the step of ", dt, " s is beyond the stability limit of ", longest,
            " s; take shorter ones, elasticity full-step or implicit Euler");
  }
  step.start(v0);
  const bool guarded = options.safeguard && options.elasticity != ImplicitElasticity::none;
  std::optional<EnergyBalance> balance;
  if (guarded) balance.emplace(step, v0);
  nodes::copy(v0, v);
  step.hold_mean_velocities(v);
  if (failed(solve_velocity(step, x0, v0, h, first, options, v, report.solves[0], report.used_definite_tangent))) return false;
  advance_positions(step, v, x1);

  if (options.finish == NewmarkFinish::backward_euler) {
    step.hold_velocities(StepTime::end, v);
    if (failed(solve_velocity(step, x1, v0, dt, second, options, v, report.solves[1], report.used_definite_tangent)))
      return false;
  } else {
    // The velocity of the first solve has done its work and serves as first guess only.
    const ScratchPoints middle = step.scratch();
    nodes::each(step.size(), [&](std::size_t i) { middle[i] = 0.5 * (x0[i] + x1[i]); });
    step.hold_positions(StepTime::middle, middle);
    step.hold_velocities(StepTime::middle, v);
    if (failed(solve_velocity(step, middle, v0, h, second, options, v, report.solves[1], report.used_definite_tangent)))
      return false;
    extrapolate_velocity(step, v, v0, v);
  }
  if (guarded && gains(balance->change(x1, v, options.elasticity == ImplicitElasticity::first_full_step), options, dt)) {
    report.retaken = true;
    return false;
  }
  report.max_speed = step.commit(x1, v);
  return true;
}

}  // namespace meniscus::solids
