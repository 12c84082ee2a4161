/// Time integration of deformable bodies. Every integrator is one function that takes bodies, as one system, from t to t + dt.
/// After an error, a failed solve or Ctrl-C they are unchanged. With a reused workspace a repeated step allocates nothing.
///
/// Sources: Mueller et al. 2008, chapter 3 (all but Newmark); Selle 2008, sections 5.4 and 5.5 (Newmark, implicit springs).
#pragma once

#include "meniscus/numerics/solve_info.hpp"
#include "meniscus/solids/integrators/body_step.hpp"
#include "meniscus/solids/integrators/integrator.hpp"
#include "meniscus/solids/integrators/multigrid/preconditioner.hpp"

#include <limits>

namespace meniscus::solids {

enum class VerletForm : std::int8_t {
  positions,  ///< from two positions, begun by Taylor expansion: second order
  velocities  ///< as printed, with the given velocity taken for that of the last step: symplectic Euler in disguise, first order
};

/// Last stage of a Newmark step.
enum class NewmarkFinish : std::int8_t {
  trapezoid,       ///< half a step of backward Euler in the middle, extrapolated: second order
  backward_euler,  ///< a whole step of backward Euler from the new positions: first order, more damping
};

/// The solves of a Newmark step with implicit, linearised elastic forces, and their length of time.
enum class ImplicitElasticity : std::int8_t {
  none,
  half_step,        ///< in both solves, over dt / 2, which is consistent
  full_step,        ///< in both solves, over dt
  first_half_step,  ///< only in the solve for positions, over dt / 2: the trapezoidal rule, which loses no energy
  first_full_step,  ///< only in the solve for positions, over dt
};

struct StepOptions {
  numerics::SolveOptions solve{1e-6, 1000};
  Preconditioner preconditioner = Preconditioner::automatic;
  /// Take the step even if a solve did not reach its tolerance.
  bool accept_unconverged = false;
  /// Tangent of implicit elastic forces. If a matrix turns out to be indefinite, `definite` is used instead.
  Tangent tangent = Tangent::definite;
  /// The same in Newton's method.
  Tangent newton_tangent = Tangent::exact;
  VerletForm verlet = VerletForm::positions;
  NewmarkFinish finish = NewmarkFinish::trapezoid;
  ImplicitElasticity elasticity = ImplicitElasticity::none;
  /// Seconds of wall-clock time for the solves of the step; later they end where they are, which is accepted. Of a Newmark step
  /// that may have to be taken once more, half of it is for the first attempt.
  double budget = std::numeric_limits<double>::infinity();
  /// Newmark: refuse steps beyond the limit of stability of the linear system, and take a step with implicit elasticity that
  /// gains energy once more, by implicit Euler.
  bool safeguard = true;
  /// Implicit Euler: Newton's method until |residual| <= newton_tolerance (dt |forces| + 1e-12 N s), or until rounding errors of
  /// positions make the residual; or one linearisation.
  bool newton = true;
  double newton_tolerance = 1e-8;
  int max_newton = 200;
};

struct NewtonInfo {
  int iterations = 0;
  int linear_iterations = 0;
  /// Number of further trials by the line search, shorter or longer.
  int halvings = 0;
  /// Residual of the momentum equation, relative to dt |forces|.
  double residual = 0;
  bool converged = false;
  /// The residual reached round-off; counts as converged.
  bool round_off = false;
};

struct StepReport {
  /// The linear solves, in order; those of Newton's method share the first entry, which is that of the last.
  std::array<numerics::SolveInfo, 2> solves;
  int solve_count = 0;
  bool used_newton = false;
  NewtonInfo newton;
  /// A tangent was indefinite, and the definite one was used instead.
  bool used_definite_tangent = false;
  /// The linearised forces of a Newmark step would have gained energy, and the step was taken by implicit Euler instead.
  bool retaken = false;
  /// The time for the step was used up before the tolerances were met.
  bool out_of_time = false;
  /// Whether all solves met their tolerances. If not, and that was not accepted, the body is unchanged.
  bool converged = true;
  /// Largest speed of a node at the end, m/s.
  double max_speed = 0;
};

/// Takes a step. False where a solve failed and that is not accepted: the body and the memory of its forces are unchanged. Throws
/// InvalidArgument as `BodyStep` does, for input and for results that are not finite; Interrupted.
bool take_step(DeformableBody& body, Integrator integrator, double dt, const NodeMotion& motion, const StepOptions& options,
               Workspace& workspace, StepReport& report);

/// The same for several bodies as one system; the list must have no body twice.
bool take_step(std::span<BodyInStep> bodies, Integrator integrator, double dt, const StepOptions& options, Workspace& workspace,
               StepReport& report);

// --- the integrators ---------------------------------------------------------------------------------------------------------

bool explicit_euler(BodyStep& step, StepReport& report);
bool symplectic_euler(BodyStep& step, StepReport& report);
bool rk2(BodyStep& step, StepReport& report);
bool rk4(BodyStep& step, StepReport& report);
bool verlet(BodyStep& step, VerletForm form, StepReport& report);
bool velocity_verlet(BodyStep& step, StepReport& report);
/// Returns false and sets `retaken`, without a commit, where the safeguard finds that the step gained energy.
bool newmark(BodyStep& step, const StepOptions& options, StepReport& report);
bool implicit_euler(BodyStep& step, const StepOptions& options, StepReport& report);

// --- the stages of Newmark, for code between them --------------------------------------------------------------------

/// Solves v = v0 + h (gravity + forces(x, v) / mass), where forces are elastic ones at x, their linearised change over
/// `elastic_dt`, and damping. On entry `v` contains the prescribed velocities, also those of nodes in contact along their normals
/// (`BodyStep::hold_contacts`), and a first guess. False where the solve failed.
///
/// `unprojected`, if not empty, becomes v, but with the velocities along normals of contacts that the same forces would give if
/// nothing were in the way: the solved velocities go into damping and linearised elasticity, and nothing is projected. What the
/// contact takes from it is its impulse, which friction needs (Selle 2008, section 6.5, v_NP).
bool solve_velocity(const BodyStep& step, ConstPoints x, ConstPoints v0, double h, double elastic_dt, const StepOptions& options,
                    Points v, numerics::SolveInfo& info, bool& used_definite_tangent, Points unprojected = {});

/// v = v0 as a first guess for `solve_velocity`: without what constraints take away, but for moved nodes, which keep what they
/// have.
void guess_velocity(const BodyStep& step, ConstPoints v0, Points v);

/// The largest frequency times dt for which the linear, undamped system stays bounded; infinite where all do.
double newmark_stability(ImplicitElasticity elasticity, NewmarkFinish finish);

/// Throws InvalidArgument for a step beyond the limit of stability of the linear system, which it names. Linearises the forces
/// where it has to look closely.
void require_stable(const BodyStep& step, const StepOptions& options);

/// x1 = x0 + dt v, with constrained nodes as prescribed at the end of the step.
void advance_positions(const BodyStep& step, ConstPoints v, Points x1);

/// v1 = 2 vh - v0, with constrained nodes as prescribed at the end of the step.
void extrapolate_velocity(const BodyStep& step, ConstPoints half, ConstPoints v0, Points v1);

}  // namespace meniscus::solids
