/// A step of implicit Euler as the minimum of a function of positions, for Newton's method with barriers.
///
/// With the velocities v = (x - x0) / dt, the function is the incremental potential
///   P(x) = |v - v0 - dt g|_M^2 / 2 + energy(x) + dt (W(v) - v . D(x0) v / 2),
/// to which the caller adds the energies of contact. Positions, not velocities, are the unknowns, because the paths between
/// iterates are certified with the positions that the step ends at.
///
/// Sources: Li et al., "Incremental Potential Contact", 2020, section 3; see `IncrementalPotential` for damping and drag.
#pragma once

#include "meniscus/numerics/solve_info.hpp"
#include "meniscus/solids/contact/barrier_tangent.hpp"
#include "meniscus/solids/integrators/body_step.hpp"

namespace meniscus::solids {

/// While it lives, the forces of the bodies are in a step (`Force::begin_step`).
class BarrierStep {
 public:
  explicit BarrierStep(const BodyStep& step);
  BarrierStep(const BarrierStep&) = delete;
  BarrierStep& operator=(const BarrierStep&) = delete;

  /// Returns P at the positions x of the bodies, J, and sets `gradient` to its derivative, N, without constrained components.
  double evaluate(ConstPoints x, Points gradient) const;

  /// Linearises all forces, without their indefinite parts.
  void linearise(ConstPoints x) const;

  /// Newton's direction: solves (M / dt^2 - D / dt - K + contact) p = -gradient. `gradient` and p are of all nodes, those of
  /// bodies first; p of nodes that forces do not move is given. False where the solve failed.
  bool solve(BarrierTangent& contact, ConstPoints gradient, Points p, const numerics::SolveOptions& options,
             numerics::SolveInfo& info) const;

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
  ScratchPoints v0_, v_, force_, damping_;
  StepOfForces end_;
};

}  // namespace meniscus::solids
