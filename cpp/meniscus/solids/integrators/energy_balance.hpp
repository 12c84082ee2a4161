/// Balance of the energy of a step: what a step with linearised elastic forces has gained beyond the work done on the body.
///
/// A linearised force is exact along straight paths of small length only. Where springs turn by an angle a in a step, their ends
/// leave the circle and stretch them by the fraction a^2 / 2, against the full stiffness: a gain that no bound on frequencies
/// forbids.
///
/// Source: own; the gain of frozen directions is that of Selle 2008, section 5.5.
#pragma once

#include "meniscus/solids/integrators/body_step.hpp"

namespace meniscus::solids {

/// Kinetic and elastic energy of the free nodes of one body between two states, and the work that others do on them: gravity,
/// moved nodes and nodes of infinite mass, and forces without energy. Damping may only take energy away. Positions and velocities
/// are those of all bodies of the step.
class EnergyBalance {
 public:
  /// Memory for the elastic energies of all bodies at the start of a step.
  using Energies = Workspace::Lease<double>;
  static Energies energies(const BodyStep& step);

  /// Of a body, with its elastic energy at the start of the step and the velocities `v0` of `BodyStep::start`, which must outlive
  /// this.
  EnergyBalance(const BodyStep& step, const BodyInStep& body, double elastic, ConstPoints v0);

  struct Change {
    /// Energy at the end less that at the start, less the work, seen from the moved nodes; J.
    double gain = 0;
    /// Kinetic energies at the start and at the end, and the size of the work of gravity.
    double scale = 0;
    /// The size of the work of others, summed over nodes. It is known as well as the forces at both ends tell.
    double work = 0;
    /// Elastic energies at the start and at the end: round-off is relative to them.
    double elastic = 0;
    /// What solves to a tolerance, rounding errors and the work of others leave open, J.
    double slack(double tolerance) const { return 2 * tolerance * scale + 1e-12 * elastic + 0.1 * work; }
    /// (force + weight)^2 / mass at the start less that at the end, N^2/kg; only if asked for.
    double forces = 0;
  };

  /// For positions `x1` and velocities `v1` at the end of the step. Forces must have been linearised where there is damping.
  Change change(ConstPoints x1, ConstPoints v1, bool with_forces) const;

  /// Takes a gain (J) from velocities relative to their mean, which changes no momentum. False, and nothing is changed, where it
  /// is more than that part of their energy.
  bool give_back(double gain, double part, Points v1) const;

  /// The same for any gain of a step that is to be kept: where velocities do not have as much, nodes go a part of their way only,
  /// or not at all.
  void retreat(double tolerance, Points x1, Points v1) const;

 private:
  /// Whether forces move a node of the body.
  bool free(std::size_t i) const { return step_.moves(body_.node(i)); }
  double inverse_mass(std::size_t i) const { return step_.inverse_mass(body_.node(i)); }
  Index size() const { return body_.size(); }
  bool has_infinite_masses() const;
  mesh::Point mean_velocity(ConstPoints v) const;
  /// The mean velocity of the moved and the fixed nodes. Seen from there they do little work, or none, whatever the forces are.
  mesh::Point frame(ConstPoints x1) const;
  bool give_back(double gain, double part, const mesh::Point& mean, Points v1) const;
  double kinetic_energy(ConstPoints v, const mesh::Point& mean) const;
  static double elastic_energy(const BodyInStep& body, ConstPoints x);

  const BodyStep& step_;
  const BodyInStep& body_;
  ConstPoints x0_;
  ConstPoints v0_;
  double elastic_;
  bool works_;
};

}  // namespace meniscus::solids
