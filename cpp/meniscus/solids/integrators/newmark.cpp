// Newmark step of a deformable body, and the stages that it consists of.
#include "meniscus/core/error.hpp"
#include "meniscus/solids/integrators/energy_balance.hpp"
#include "meniscus/solids/integrators/integrators.hpp"
#include "meniscus/solids/integrators/time_step.hpp"
#include "meniscus/solids/integrators/velocity_system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::solids {

namespace {

/// Sets `out` to v, but for nodes in contact, which get the velocity u + (damping D + stiffness K) v / mass along their normals:
/// as if nothing were in their way.
void unproject(const BodyStep& step, double damping, double stiffness, ConstPoints u, ConstPoints v, Points out) {
  const ScratchPoints f = step.scratch();
  nodes::clear(f);
  step.each_force([&](const Force& force, const BodyInStep& b) { force.add_tangent(b.of(v), stiffness, damping, b.of(f)); });
  nodes::copy(v, out);
  const HeldNodes& held = step.held();
  nodes::each(static_cast<Index>(held.touching().size()), [&](std::size_t k) {
    const Index i = held.touching()[k];
    out[i] += held.across()[k] * (u[i] + step.inverse_mass(i) * f[i] - v[i]);
  });
}

}  // namespace

bool solve_velocity(const BodyStep& step, ConstPoints x, ConstPoints v0, double h, double elastic_dt, const StepOptions& options,
                    Points v, numerics::SolveInfo& info, bool& used_definite_tangent, Points unprojected) {
  const ScratchPoints u = step.scratch();
  step.accelerations(x, {}, u);
  nodes::each(step.size(), [&](std::size_t i) { u[i] = (v0[i] + h * u[i]).eval(); });
  const auto linearise = [&](Tangent tangent) {
    if (step.damped() || elastic_dt > 0) step.linearise(x, tangent);
  };
  // Drag slows down what forces would do, as more mass at the same momentum does.
  ScratchPoints slowed;
  if (step.dragged()) {
    slowed = step.scratch();
    nodes::each(step.size(), [&](std::size_t i) { slowed[i] = u[i] / (1 + step.drag(i)); });
  }
  const ConstPoints start = step.dragged() ? slowed : u;
  const auto solve = [&](Tangent tangent) {
    linearise(tangent);
    return solve_velocities(step, h, h * elastic_dt, start, v, options.solve, options.preconditioner, info);
  };
  bool solved = solve(options.tangent);
  if (!solved && info.end == numerics::SolveEnd::indefinite_matrix && options.tangent != Tangent::definite) {
    used_definite_tangent = true;
    solved = solve(Tangent::definite);
  }
  if (!unprojected.empty()) unproject(step, h, h * elastic_dt, u, v, unprojected);
  return solved;
}

void guess_velocity(const BodyStep& step, ConstPoints v0, Points v) {
  nodes::copy(v0, v);
  step.held().project_lasting(v);
  for (const BodyInStep& b : step.bodies())
    for (const std::int32_t own : b.body->constraints().moved()) {
      const std::size_t i = b.node(own);
      v[i] = v0[i];
    }
}

void advance_positions(const BodyStep& step, ConstPoints v, Points x1) {
  const ConstPoints x0 = step.positions();
  nodes::each(step.size(), [&](std::size_t i) { x1[i] = x0[i] + step.dt() * v[i]; });
  step.hold_positions(StepTime::end, x1);
}

void extrapolate_velocity(const BodyStep& step, ConstPoints half, ConstPoints v0, Points v1) {
  nodes::each(step.size(), [&](std::size_t i) { v1[i] = (2 * half[i] - v0[i]).eval(); });
  step.hold_velocities(StepTime::end, v1);
}

namespace {

/// Whether a body does not gain energy in a step, beyond what the solves leave open. `first_full_step` keeps, in linear systems,
/// the energy plus h^2 / 2 (force + weight)^2 / mass.
///
/// The variants that lose no energy in linear systems may gain some by the nonlinear motion. Up to a hundredth is taken from the
/// velocities relative to their mean, which changes no momentum.
bool keeps_energy(double dt, const EnergyBalance& balance, const StepOptions& options, ConstPoints x1, Points v1) {
  const bool full = options.elasticity == ImplicitElasticity::first_full_step;
  const bool first = full || options.elasticity == ImplicitElasticity::first_half_step;
  const bool conserves = first && options.finish == NewmarkFinish::trapezoid;
  const EnergyBalance::Change change = balance.change(x1, v1, conserves && full);
  const double slack = change.slack(options.solve.tolerance);
  const double gain = change.gain - 0.125 * dt * dt * change.forces;
  if (gain <= slack && (!conserves || change.gain <= 0.1 * change.scale + slack)) return true;
  // Also for what is not a number.
  if (!(conserves && change.gain <= 0.1 * change.scale && gain <= 0.01 * change.scale)) return false;
  return balance.give_back(gain, 0.1, v1);
}

double elastic_time_step(const BodyStep& step) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const BodyInStep& b : step.bodies()) shortest = std::min(shortest, elastic_time_step(*b.body, step.workspace()));
  return shortest;
}

/// The highest elastic frequency (1/s) at the start of a step, by power iteration: more exact than the bound by rows, and far
/// more expensive. The residual is added, so that the result is too low only for starts that happen to miss a frequency.
double highest_frequency(const BodyStep& step) {
  constexpr int iterations = 40;
  step.linearise(step.positions(), Tangent::definite);
  VelocitySystem system(step, 0, 1, Preconditioner::none);
  const ScratchPoints p_memory = step.scratch(), q_memory = step.scratch();
  Points p = p_memory, q = q_memory;
  // A start without any symmetry.
  nodes::each(step.size(), [&](std::size_t i) {
    const auto k = static_cast<double>(i);
    p[i] = mesh::Point(std::sin(1.3 * k * k + 0.7), std::sin(2.1 * k * k + 1.9), std::sin(3.7 * k * k + 2.3));
  });
  system.project(p);
  double square = 0, rest = 0;
  for (int n = 0; n < iterations; ++n) {
    const double size = std::sqrt(system.inner_product(p, p));
    if (!(size > 0)) break;
    nodes::each(step.size(), [&](std::size_t i) { p[i] /= size; });
    // The matrix is I + S: the rest is that of S.
    system.multiply(p, q);
    system.combine(-1, p, 1, q);
    square = system.inner_product(p, q);
    system.combine(-square, p, 1, q);
    rest = std::sqrt(system.inner_product(q, q));
    system.combine(square, p, 1, q);
    nodes::copy(q, p);
  }
  return std::sqrt(square + rest);
}

}  // namespace

double newmark_stability(ImplicitElasticity elasticity, NewmarkFinish finish) {
  const bool backward = finish == NewmarkFinish::backward_euler;
  if (elasticity == ImplicitElasticity::none) return backward ? std::sqrt(2.0) : 2.0;
  return backward && elasticity == ImplicitElasticity::first_half_step ? 2.0 : std::numeric_limits<double>::infinity();
}

void require_stable(const BodyStep& step, const StepOptions& options) {
  const double limit = newmark_stability(options.elasticity, options.finish), dt = step.dt();
  if (!std::isfinite(limit) || dt <= 0.5 * limit * elastic_time_step(step)) return;
  const double longest = limit / highest_frequency(step);
  require(dt <= longest, "the step of ", dt, " s is beyond the stability limit of ", longest,
          " s; take shorter ones, elasticity full-step or implicit Euler");
}

bool newmark(BodyStep& step, const StepOptions& options, StepReport& report) {
  const double dt = step.dt(), h = 0.5 * dt;
  const auto is = [&](auto... which) { return ((options.elasticity == which) || ...); };
  const double first = is(ImplicitElasticity::none)                                             ? 0.0
                       : is(ImplicitElasticity::half_step, ImplicitElasticity::first_half_step) ? h
                                                                                                : dt;
  const double second = is(ImplicitElasticity::half_step, ImplicitElasticity::full_step) ? first : 0.0;
  const ConstPoints x0 = step.positions();
  const ScratchPoints v0 = step.scratch(), v = step.scratch(), x1 = step.scratch();
  const auto failed = [&](bool converged) {
    report.solve_count++;
    report.converged = report.converged && converged;
    return !converged && !options.accept_unconverged;
  };

  if (options.safeguard) require_stable(step, options);
  step.start(v0);
  const bool guarded = options.safeguard && options.elasticity != ImplicitElasticity::none;
  EnergyBalance::Energies elastic;
  if (guarded) elastic = EnergyBalance::energies(step);
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
  for (std::size_t k = 0; guarded && k < step.bodies().size(); ++k)
    if (!keeps_energy(step.dt(), EnergyBalance(step, step.bodies()[k], elastic.data()[k], v0), options, x1, v)) {
      report.retaken = true;
      return false;
    }
  report.max_speed = step.commit(x1, v);
  return true;
}

}  // namespace meniscus::solids
