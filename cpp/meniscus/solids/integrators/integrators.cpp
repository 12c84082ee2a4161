#include "meniscus/solids/integrators/integrators.hpp"

#include "meniscus/core/cancellation.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

/// to = a + t b.
void add(ConstPoints a, double t, ConstPoints b, Points to) {
  nodes::each(static_cast<Index>(a.size()), [&](std::size_t i) { to[i] = (a[i] + t * b[i]).eval(); });
}

/// Whether the velocities are those with which the position form of Verlet left the body.
bool continues_verlet(const DeformableBody& body) {
  if (body.previous_dt() == 0) return false;
  const auto x = body.positions();
  const auto v = body.velocities();
  const auto m = body.masses();
  const auto before = body.previous_positions();
  const double dt = body.previous_dt();
  return nodes::first(body.size(), [&](std::size_t i) {
           return body.constraints().kind(static_cast<Index>(i)) == ConstraintKind::free && !std::isinf(m[i]) &&
                  v[i] != (x[i] - before[i]) / dt;
         }) == body.size();
}

/// New positions in the position form of Verlet, from accelerations a.
void verlet_positions(const BodyInStep& b, double dt, ConstPoints x0, ConstPoints v, ConstPoints a, Points x) {
  const DeformableBody& body = *b.body;
  if (!continues_verlet(body)) {
    nodes::each(b.size(), [&](std::size_t i) { x[i] = x0[i] + dt * v[i] + 0.5 * dt * dt * a[i]; });
    return;
  }
  const ConstPoints before = body.previous_positions();
  const double ratio = dt / body.previous_dt(), square = 0.5 * dt * (dt + body.previous_dt());
  nodes::each(b.size(), [&](std::size_t i) { x[i] = x0[i] + ratio * (x0[i] - before[i]) + square * a[i]; });
}

/// Memory of the forces of all bodies; restored unless it is released.
class SavedMemory {
 public:
  SavedMemory(std::span<const BodyInStep> bodies, Workspace& workspace) : bodies_(bodies) {
    std::size_t size = 0;
    each([&](Force& force) { size += force.memory().size(); });
    if (size == 0) return;
    saved_ = workspace.take<double>(static_cast<Index>(size));
    double* to = saved_.data();
    each([&](Force& force) { to = std::copy(force.memory().begin(), force.memory().end(), to); });
  }
  SavedMemory(const SavedMemory&) = delete;
  SavedMemory& operator=(const SavedMemory&) = delete;
  ~SavedMemory() {
    if (!let_go_) bring_back();
  }
  void bring_back() const {
    const double* from = saved_.data();
    each([&](Force& force) {
      const std::span<double> memory = force.memory();
      std::copy_n(from, memory.size(), memory.begin());
      from += memory.size();
    });
  }
  void let_go() { let_go_ = true; }

 private:
  template <class F>
  void each(F&& f) const {
    for (const BodyInStep& b : bodies_)
      for (const auto& force : b.body->forces()) f(*force);
  }

  std::span<const BodyInStep> bodies_;
  Workspace::Lease<double> saved_;
  bool let_go_ = false;
};

/// Options with which implicit Euler takes a step that Newmark's method gave up. Newton's method goes down the incremental
/// potential from a start that has no more energy than the body, so that a rough tolerance does. Chains of very stiff springs
/// that turn far in a step take it hundreds of iterations, which it gets unless a fixed amount of work was asked for.
StepOptions retaking(const StepOptions& options) {
  StepOptions o = options;
  o.newton = true;
  o.newton_tolerance = std::max(o.newton_tolerance, 1e-4);
  o.newton_tangent = Tangent::exact;
  if (!o.accept_unconverged) o.max_newton = 20 * std::min(o.max_newton, 100000000);
  return o;
}

bool step_with(Integrator integrator, BodyStep& step, const StepOptions& options, StepReport& report) {
  switch (integrator) {
    case Integrator::explicit_euler:
      return explicit_euler(step, report);
    case Integrator::symplectic_euler:
      return symplectic_euler(step, report);
    case Integrator::rk2:
      return rk2(step, report);
    case Integrator::rk4:
      return rk4(step, report);
    case Integrator::verlet:
      return verlet(step, options.verlet, report);
    case Integrator::velocity_verlet:
      return velocity_verlet(step, report);
    case Integrator::newmark:
      return newmark(step, options, report);
    case Integrator::implicit_euler:
      break;
  }
  return implicit_euler(step, options, report);
}

}  // namespace

bool explicit_euler(BodyStep& step, StepReport& report) {
  const ConstPoints x0 = step.positions();
  const ScratchPoints v = step.scratch(), a = step.scratch(), x = step.scratch();
  step.start(v);
  step.accelerations(x0, v, a);
  add(x0, step.dt(), v, x);
  add(v, step.dt(), a, v);
  step.hold_positions(StepTime::end, x);
  step.hold_velocities(StepTime::end, v);
  report.max_speed = step.commit(x, v);
  return true;
}

bool symplectic_euler(BodyStep& step, StepReport& report) {
  const ConstPoints x0 = step.positions();
  const ScratchPoints v = step.scratch(), a = step.scratch(), x = step.scratch();
  step.start(v);
  step.accelerations(x0, v, a);
  add(v, step.dt(), a, v);
  add(x0, step.dt(), v, x);
  step.hold_positions(StepTime::end, x);
  step.hold_velocities(StepTime::end, v);
  report.max_speed = step.commit(x, v);
  return true;
}

bool rk2(BodyStep& step, StepReport& report) {
  const ConstPoints x0 = step.positions();
  const ScratchPoints v0 = step.scratch(), v = step.scratch(), a = step.scratch(), x = step.scratch();
  step.start(v0);
  step.accelerations(x0, v0, a);
  add(x0, 0.5 * step.dt(), v0, x);
  add(v0, 0.5 * step.dt(), a, v);
  step.hold_positions(StepTime::middle, x);
  step.hold_velocities(StepTime::middle, v);
  step.accelerations(x, v, a);
  add(x0, step.dt(), v, x);
  add(v0, step.dt(), a, v);
  step.hold_positions(StepTime::end, x);
  step.hold_velocities(StepTime::end, v);
  report.max_speed = step.commit(x, v);
  return true;
}

bool rk4(BodyStep& step, StepReport& report) {
  const ConstPoints x0 = step.positions();
  const ScratchPoints v0 = step.scratch(), v = step.scratch(), a = step.scratch(), x = step.scratch(), sum_v = step.scratch(),
                      sum_a = step.scratch();
  const double dt = step.dt();
  step.start(v0);
  step.accelerations(x0, v0, a);
  nodes::copy(v0, sum_v);
  nodes::copy(a, sum_a);
  add(x0, 0.5 * dt, v0, x);
  add(v0, 0.5 * dt, a, v);
  // `ahead` is how far the next stage lies from the start.
  const auto stage = [&](StepTime when, double weight, double ahead) {
    step.hold_positions(when, x);
    step.hold_velocities(when, v);
    step.accelerations(x, v, a);
    add(sum_v, weight, v, sum_v);
    add(sum_a, weight, a, sum_a);
    add(x0, ahead, v, x);
    add(v0, ahead, a, v);
  };
  stage(StepTime::middle, 2.0, 0.5 * dt);
  stage(StepTime::middle, 2.0, dt);
  stage(StepTime::end, 1.0, dt);
  add(x0, dt / 6, sum_v, x);
  add(v0, dt / 6, sum_a, v);
  step.hold_positions(StepTime::end, x);
  step.hold_velocities(StepTime::end, v);
  report.max_speed = step.commit(x, v);
  return true;
}

bool verlet(BodyStep& step, VerletForm form, StepReport& report) {
  const ConstPoints x0 = step.positions();
  const ScratchPoints v = step.scratch(), a = step.scratch(), x = step.scratch();
  const double dt = step.dt();
  step.start(v);
  step.accelerations(x0, v, a);
  if (form == VerletForm::velocities) {
    nodes::each(step.size(), [&](std::size_t i) { x[i] = x0[i] + dt * v[i] + dt * dt * a[i]; });
  } else {
    for (const BodyInStep& b : step.bodies()) verlet_positions(b, dt, b.of(x0), b.of(v), b.of(a), b.of(x));
  }
  step.hold_positions(StepTime::end, x);
  nodes::each(step.size(), [&](std::size_t i) {
    if (step.inverse_mass(i) > 0)
      v[i] = (x[i] - x0[i]) / dt;
    else
      x[i] = x0[i] + dt * v[i];
  });
  step.hold_velocities(StepTime::end, v);
  step.check(x, v);
  if (form == VerletForm::velocities) {
    report.max_speed = step.commit(x, v);
    return true;
  }
  for (const BodyInStep& b : step.bodies()) b.body->keep_previous(b.body->previous_dt());
  const NoInterrupts whole;
  for (const BodyInStep& b : step.bodies()) nodes::copy(b.of(x0), b.body->previous_positions());
  report.max_speed = step.commit(x, v);
  for (const BodyInStep& b : step.bodies()) b.body->keep_previous(dt);
  return true;
}

bool velocity_verlet(BodyStep& step, StepReport& report) {
  const ConstPoints x0 = step.positions();
  const ScratchPoints v0 = step.scratch(), v = step.scratch(), a0 = step.scratch(), a = step.scratch(), x = step.scratch();
  const double dt = step.dt();
  step.start(v0);
  step.accelerations(x0, v0, a0);
  nodes::each(step.size(), [&](std::size_t i) { x[i] = x0[i] + dt * v0[i] + 0.5 * dt * dt * a0[i]; });
  add(v0, dt, a0, v);
  step.hold_positions(StepTime::end, x);
  step.hold_velocities(StepTime::end, v);
  // Where forces depend on velocities, those at the end are predicted: an error of third order.
  step.accelerations(x, v, a);
  nodes::each(step.size(), [&](std::size_t i) { v[i] = v0[i] + 0.5 * dt * (a0[i] + a[i]); });
  step.hold_velocities(StepTime::end, v);
  report.max_speed = step.commit(x, v);
  return true;
}

bool take_step(DeformableBody& body, Integrator integrator, double dt, const NodeMotion& motion, const StepOptions& options,
               Workspace& workspace, StepReport& report) {
  BodyInStep only{&body, motion};
  return take_step(std::span(&only, 1), integrator, dt, options, workspace, report);
}

bool take_step(std::span<BodyInStep> bodies, Integrator integrator, double dt, const StepOptions& options, Workspace& workspace,
               StepReport& report) {
  for (numerics::SolveInfo& info : report.solves) {
    info.iterations = 0;
    info.residual = info.seconds = 0;
    info.history.clear();
    info.converged = false;
    info.end = numerics::SolveEnd::none;
  }
  report.solve_count = 0;
  report.used_newton = false;
  report.newton = {};
  report.used_definite_tangent = false;
  report.retaken = report.out_of_time = false;
  report.converged = true;
  report.max_speed = 0;
  SavedMemory memory(bodies, workspace);
  BodyStep step(bodies, dt, workspace);
  const auto spend = [&, begin = BodyStep::Clock::now()](double part) {
    if (!std::isfinite(options.budget)) return;
    const std::chrono::duration<double> time(part * std::min(options.budget, 1e6));
    step.set_deadline(begin + std::chrono::duration_cast<BodyStep::Clock::duration>(time));
  };
  StepOptions chosen = options;
  if (std::isfinite(options.budget)) chosen.accept_unconverged = true;
  spend(integrator == Integrator::newmark && options.safeguard ? 0.5 : 1);
  bool done = step_with(integrator, step, chosen, report);
  if (!done && report.retaken) {
    memory.bring_back();
    report.converged = true;
    spend(1);
    done = implicit_euler(step, retaking(chosen), report);
  }
  if (!done) return false;
  // A solve that began late moved nothing, which the iteration around it takes for convergence.
  if (report.solve_count > 0 && std::isfinite(options.budget) && step.late()) {
    report.out_of_time = true;
    report.converged = report.newton.converged = report.newton.round_off = false;
  }
  memory.let_go();
  return true;
}

}  // namespace meniscus::solids
