// Implicit Euler: one linear solve, or Newton's method for the minimum of the incremental potential.
#include "meniscus/solids/integrators/newton.hpp"

namespace meniscus::solids {

bool implicit_euler(BodyStep& step, const StepOptions& options, StepReport& report) {
  if (options.newton) {
    Newton newton(step, options, report);
    report.converged = newton.run();
    if (!report.converged && !options.accept_unconverged) return false;
    const ScratchPoints v = step.scratch();
    nodes::copy(newton.velocities(), v);
    step.hold_velocities(StepTime::end, v);
    report.max_speed = step.commit(newton.positions(), v);
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
