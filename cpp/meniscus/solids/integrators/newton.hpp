/// Newton's method for the minimum of an incremental potential, with a line search.
///
/// Where the potential has a term that is not finite everywhere, such as barriers of contact, all ways between iterates are free
/// of contact by an exact test, and no step goes farther than its certified part.
#pragma once

#include "meniscus/solids/integrators/incremental_potential.hpp"
#include "meniscus/solids/integrators/integrators.hpp"

#include <optional>

namespace meniscus::solids {

/// Where Newton's method ends by speeds: when no node would move faster by a step whose linear solve met its own tolerance.
struct SpeedGoal {
  /// m/s, and relative to the speed of the fastest node.
  double least = 0, relative = 0;
  /// Limit of both, m/s.
  double most = std::numeric_limits<double>::infinity();
  /// Speed of what is not among the nodes, m/s.
  double elsewhere = 0;

  double at(double fastest) const { return std::max(std::min(unlimited(fastest), most), 1e-12); }
  double unlimited(double fastest) const { return std::max(least, relative * std::max(fastest, elsewhere)); }
};

/// Finds the velocities of a step of implicit Euler.
///
/// Each iteration solves with the exact second derivative of the potential; where that is indefinite, with that of elements
/// whose negative directions were removed. Far from the solution, the linear solves are loose (Eisenstat and Walker, "Choosing
/// the forcing terms in an inexact Newton method", 1996).
class Newton {
 public:
  Newton(const BodyStep& step, const StepOptions& options, StepReport& report, PotentialTerm* term = nullptr);

  /// Goes to the minimum from the best of several guesses. False where the residual does not meet the tolerance.
  bool run();

  /// Begins at velocities, or does so anew after the potential has changed.
  void begin(ConstPoints v);
  /// Goes on from there with at most so many iterations. False where the goal is not met.
  bool minimise(const SpeedGoal& goal, int most);
  /// Sets the direction from the present velocities in which nodes that forces do not move have the velocities `given` (zero for
  /// others), what is not among the nodes goes what is left of its way, and the others answer to both.
  void follow(ConstPoints given);

  IncrementalPotential& potential() { return potential_; }
  const PotentialValue& value() const { return now_; }
  /// The mean velocities in the step, the positions at its end and the derivative of the potential there, N s.
  const ScratchPoints& velocities() const { return v_; }
  const ScratchPoints& positions() const { return x_; }
  const ScratchPoints& residual() const { return residual_; }
  const ScratchPoints& direction() const { return direction_; }

 private:
  /// Velocities to begin with: the present ones, those in free fall, or none.
  enum class Guess : std::int8_t { inertia, fall, rest };
  void set_guess(Guess kind, Points v) const;
  void guess();
  /// Iterates from v_ until convergence, failure or a number of iterations in all.
  void iterate(int limit);
  /// The step from the residual with a tangent; false where the matrix is indefinite or values are not finite. `given`: of
  /// `follow`, or empty.
  bool find_direction(Tangent tangent, double tolerance, ConstPoints given = {});
  /// Goes along the direction as far as the potential falls enough.
  bool search();
  /// How far the direction may be followed.
  double reach();
  /// Compares the residual with its goal.
  void judge();
  /// Removes what loose or unfinished solves have done to the momentum of free bodies, unless external forces make the residual
  /// grow by it.
  void conserve_momentum();
  void conserve_momentum(const BodyInStep& body);
  /// Whether the direction moves no node by more than rounding errors of positions.
  bool negligible() const;
  double fastest(ConstPoints v) const;
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
  ScratchPoints v_, x_, residual_, direction_, trial_, trial_x_, trial_residual_;
  std::optional<SpeedGoal> speeds_;
  PotentialValue now_;
  double before_ = 0, forcing_ = 0;
  double stiffness_size_ = 0;
  /// The potential at rest.
  double at_rest_ = 0;
  /// Whether the last search went for less than rounding errors of the potential.
  bool hidden_ = false;
};

}  // namespace meniscus::solids
