// Implicit Euler: one linear solve, or Newton's method for the minimum of the incremental potential.
#include "meniscus/solids/integrators/energy_balance.hpp"
#include "meniscus/solids/integrators/newton.hpp"

namespace meniscus::solids {

bool implicit_euler(BodyStep& step, const StepOptions& options, StepReport& report) {
  const ScratchPoints v0 = step.scratch(), v = step.scratch(), x1 = step.scratch();
  step.start(v0);
  if (options.newton) {
    EnergyBalance::Energies elastic;
    if (report.retaken) elastic = EnergyBalance::energies(step);
    {
      Newton newton(step, options, report);
      report.converged = newton.run();
      if (!report.converged && !options.accept_unconverged) return false;
      nodes::copy(newton.velocities(), v);
      nodes::copy(newton.positions(), x1);
    }
    step.hold_velocities(StepTime::end, v);
    // What snaps from one minimum to another, or was not solved to the end, may gain energy even so.
    if (elastic)
      for (std::size_t k = 0; k < step.bodies().size(); ++k)
        EnergyBalance(step, step.bodies()[k], elastic.data()[k], v0).retreat(options.solve.tolerance, x1, v);
    report.max_speed = step.commit(x1, v);
    return true;
  }
  nodes::copy(v0, v);
  step.hold_mean_velocities(v);
  report.solve_count = 1;
  report.converged = solve_velocity(step, step.positions(), v0, step.dt(), step.dt(), options, v, report.solves[0],
                                    report.used_definite_tangent);
  if (!report.converged && !options.accept_unconverged) return false;
  advance_positions(step, v, x1);
  step.hold_velocities(StepTime::end, v);
  report.max_speed = step.commit(x1, v);
  return true;
}

}  // namespace meniscus::solids
