/// Newton's method for the minimum of an incremental potential, with a line search.
#pragma once

#include "meniscus/solids/integrators/incremental_potential.hpp"
#include "meniscus/solids/integrators/integrators.hpp"

namespace meniscus::solids {

/// Finds the velocities of a step of implicit Euler.
///
/// Each iteration solves with the exact second derivative of the potential; where that is indefinite, with that of elements
/// whose negative directions were removed. Far from the solution, the linear solves are loose (Eisenstat and Walker, "Choosing
/// the forcing terms in an inexact Newton method", 1996).
class Newton {
 public:
  Newton(const BodyStep& step, const StepOptions& options, StepReport& report);

  /// False where the residual does not meet the tolerance.
  bool run();

  /// The mean velocities in the step and the positions at its end.
  const ScratchPoints& velocities() const { return v_; }
  const ScratchPoints& positions() const { return x_; }

 private:
  /// Velocities to begin with: the present ones, those in free fall, or none.
  enum class Guess : std::int8_t { inertia, fall, rest };
  void set_guess(Guess kind, Points v) const;
  void guess();
  /// Iterates from v_ until convergence, failure or the limit of iterations.
  void iterate();
  /// The step from the residual with a tangent; false where the matrix is indefinite or values are not finite.
  bool find_direction(Tangent tangent, double tolerance);
  /// Goes along the direction as far as the potential falls enough.
  bool search();
  /// Removes what loose or unfinished solves have done to the momentum of free bodies, unless external forces make the residual
  /// grow by it.
  void conserve_momentum();
  void conserve_momentum(const BodyInStep& body);
  /// Whether the direction moves no node by more than rounding errors of positions.
  bool negligible() const;
  /// Tolerance of the next linear solve.
  double forcing() const;
  /// Residual to reach, N s.
  double goal() const;
  /// Residual that rounding errors of positions make.
  double floor() const;
  /// Change of the potential that rounding errors make, J.
  double noise() const;
  double largest_coordinate() const;

  const BodyStep& step_;
  const StepOptions& options_;
  StepReport& report_;
  IncrementalPotential potential_;
  ScratchPoints v_, x_, residual_, direction_, trial_, trial_residual_;
  PotentialValue now_;
  double before_ = 0, forcing_ = 0;
  double stiffness_size_ = 0;
  /// The potential at rest.
  double at_rest_ = 0;
};

}  // namespace meniscus::solids
