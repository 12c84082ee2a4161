/// A step of implicit Euler with barriers of contact: Newton's method finds the minimum of the incremental potential on ways that
/// are free of contact by the exact test. What goes given ways (obstacles, solids, moved nodes) is brought to the ends of these
/// first, in moves to which bodies give way.
///
/// Source: Li et al., "Incremental Potential Contact", 2020, sections 3 to 5; how obstacles move is ours.
#pragma once

#include "meniscus/solids/contact/barrier_contact.hpp"
#include "meniscus/solids/integrators/newton.hpp"

namespace meniscus::solids {

/// Positions of the nodes of the bodies of a step as they would be without forces, on their paths where these are given.
void free_ends(const BodyStep& step, Points x);

class BarrierStep {
 public:
  /// `ends`: positions of all nodes at the ends of given ways; they, the step and the contact outlive this object.
  BarrierStep(BodyStep& step, BarrierContact& contact, ConstPoints ends, const BarrierStepOptions& options);

  /// Evaluates the potential at the start. False where surfaces touch or nodes are in solids.
  bool begin();

  /// Tilts the potential such that without contact it is least at positions of the bodies.
  void set_minimum(ConstPoints x);

  /// Sets the stiffness of the barrier (J), unless it is fixed, from that of the step before, 0 for none; and the friction of the
  /// pairs at the start. A new one balances the other forces there, and is at least the mean mass of a node times its way under
  /// gravity and inertia within the activation distance.
  void meet(double kept);

  /// Brings what goes given ways to their ends; false where something in their way does not yield.
  bool approach();

  /// Goes to the minimum with at most so many iterations; false where the tolerance is not met.
  bool minimise(int most) { return newton_.minimise(goal(), most); }

  /// Takes the friction of the forces at the present positions; returns the number of pairs.
  Index lag_friction() { return contact_.lag(newton_.positions(), contact_.stiffness()); }

  /// The potential at positions of the bodies, J, and its derivative, N.
  double evaluate(ConstPoints x, Points gradient);
  /// Newton's direction from there, m.
  void direction(ConstPoints x, Points out);

  /// Makes the positions found the state of the bodies; returns the largest speed, m/s.
  double commit();

  ConstPoints positions() const { return newton_.positions(); }
  double tolerance() const;
  int increments() const { return increments_; }
  const NewtonInfo& info() const { return report_.newton; }

 private:
  SpeedGoal goal() const;
  double least_stiffness() const;
  /// The stiffness at which the barrier balances the other forces best at the start, 0 without pairs.
  double balance();
  bool move();

  BodyStep& step_;
  BarrierContact& contact_;
  ConstPoints ends_;
  BarrierStepOptions options_;
  double least_speed_ = 0;
  StepOptions newton_options_;
  StepReport report_;
  Newton newton_;
  int increments_ = 0;
};

}  // namespace meniscus::solids
