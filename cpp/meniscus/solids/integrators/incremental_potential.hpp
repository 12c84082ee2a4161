/// Function whose minimum is a step of implicit Euler.
///
/// With the mean velocities v of the step, x1 = x0 + dt v and
///   P(v) = |v - v0 - dt g|_M^2 / 2 + energy(x1) + dt (W(v) - v . D(x0) v / 2),
/// its derivative is M (v - v0 - dt g) - dt (elastic forces at x1 + drag at v + D(x0) v): the equation of the step. A term of its
/// own, such as the barriers of contact, adds an energy of x1.
///
/// Sources: Mueller et al., "Real time physics class notes", 2008, section 3.5; Kane, Marsden, Ortiz and West, "Variational
/// integrators and the Newmark algorithm", 2000 (potential of a step); Gast, Schroeder, Stomakhin, Jiang and Teran, "Optimization
/// integrator for large time steps", 2015; Li et al., "Incremental Potential Contact", 2020, section 3 (contact as one of its
/// terms).
#pragma once

#include "meniscus/solids/integrators/body_step.hpp"
#include "meniscus/solids/integrators/potential_term.hpp"

#include <cmath>

namespace meniscus::solids {

/// Values of the potential at some velocities.
struct PotentialValue {
  double potential = 0;
  /// Sum of the sizes of its parts, J: rounding errors are relative to it.
  double size = 0;
  /// Norm of the residual, and dt times the norms of the forces, N s.
  double residual = 0;
  double forces = 0;

  bool finite() const { return std::isfinite(potential) && std::isfinite(residual); }
};

/// While it lives, the forces of the bodies are in a step (`Force::begin_step`).
class IncrementalPotential {
 public:
  explicit IncrementalPotential(const BodyStep& step, PotentialTerm* term = nullptr);
  IncrementalPotential(const IncrementalPotential&) = delete;
  IncrementalPotential& operator=(const IncrementalPotential&) = delete;

  /// Velocities at the start, m/s.
  const ScratchPoints& start() const { return v0_; }

  /// Sets x to the positions at the end for the velocities v, and r to the residual, which is the derivative without its
  /// constrained components.
  PotentialValue evaluate(ConstPoints v, Points x, Points r) const;

  /// Linearises all forces at the positions x and velocities v, which were evaluated last.
  void linearise(ConstPoints x, ConstPoints v, Tangent tangent) const;

  /// Sets x to the positions at the end for the velocities v.
  void positions(ConstPoints v, Points x) const;

  PotentialTerm* term() const { return term_; }

  /// Nodes that forces do not move go with their velocities from now on, or, where positions are given, to these.
  void hold_at(ConstPoints ends) {
    held_by_step_ = false;
    ends_ = ends;
  }

  /// Tilts the potential so that without the term it is least at the velocities v.
  void set_minimum(ConstPoints v);

 private:
  /// Ends the step of the forces, also if beginning it throws.
  struct StepOfForces {
    const BodyStep& step;
    ~StepOfForces() {
      step.each_force([](Force& force, const BodyInStep&) { force.end_step(); });
    }
  };

  const BodyStep& step_;
  ConstPoints x0_;
  PotentialTerm* term_;
  bool held_by_step_ = true;
  ConstPoints ends_;
  ScratchPoints v0_, force_, damping_, minimum_, slope_;
  bool tilted_ = false;
  StepOfForces end_;
};

}  // namespace meniscus::solids
