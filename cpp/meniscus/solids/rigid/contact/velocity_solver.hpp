/// Velocities after contact: impulses at points by Gauss-Seidel sweeps, accumulated and kept from step to step, in the cone of
/// friction; colour by colour, so that pairs of bodies of a colour are solved in parallel with the bits of a serial order.
///
/// Sources: Müller, Stam, James and Thürey 2008, sections 6.3 to 6.6; Catto, "Iterative dynamics with temporal coherence", 2005
/// (accumulated impulses, warm start); Guendelman, Bridson and Fedkiw, "Nonconvex rigid bodies with stacking", 2003 (impacts
/// before forces, contact after them).
#pragma once

#include "meniscus/solids/rigid/contact/contact_point.hpp"

namespace meniscus::solids {

enum class FrictionLaw : std::int8_t {
  /// Coulomb: what holds is at most the static coefficient times the normal impulse; what slips has the dynamic one against it.
  cone,
  /// As printed: tangential velocity is stopped wherever the normal impulse exceeds a limit, however much that takes.
  printed,
};

enum class RigidSolver : std::int8_t {
  automatic,  ///< sweeps, and directly what of an island they leave
  sweeps,
  exact,  ///< normal impulses by the exact linear complementarity problem, between sweeps of friction
};

struct ContactOptions {
  int iterations = 20;
  /// m/s: sweeps end when none changes a velocity at a point by more; 0: never.
  double tolerance = 0;
  /// m/s: slower impacts do not bounce.
  double restitution_speed = 0.1;
  int impact_sweeps = 64;
  /// Part of the overlap beyond `slop` (m) that pseudo-velocities remove in a step.
  double push = 0.2;
  double slop = 1e-3;
  FrictionLaw law = FrictionLaw::cone;
  /// kg m/s, for the printed law.
  double holding_impulse = 0;
  /// Part of the impulses of the step before that a solve begins with.
  double warm = 1;
  RigidSolver solver = RigidSolver::automatic;
  bool exact() const { return solver == RigidSolver::exact; }
};

/// A point as the sweeps see it.
struct SolverPoint {
  ImpulseRow normal;
  std::array<ImpulseRow, 2> tangent;
  double gap = 0;
  /// Least relative velocity along the normal, and that of the pseudo-velocities, m/s.
  double target = 0, push_target = 0;
  double normal_mass = 0;   ///< inverse of the response, kg
  double tangent_mass = 0;  ///< inverse of the largest response in the tangent plane, kg
  double impulse = 0, push_impulse = 0;
  std::array<double, 2> tangent_impulse{};
  double impact_impulse = 0;
  std::array<double, 2> impact_tangent{};
  double change = 0, push_change = 0;  ///< of a velocity at the point in the last sweep, and of its pseudo-velocity, m/s
};

/// Turns of a point with rolling or spinning friction.
struct SolverTurns {
  std::array<ImpulseRow, 3> rows;  ///< about the normal and the tangents
  std::array<double, 2> mass{};    ///< about the normal, about the tangents, kg m^2
  std::array<double, 3> impulse{};
};

struct SolverGroup {
  std::array<std::int32_t, 2> bodies{};
  std::int32_t count = 0;
  Index first = 0;
  RigidSurface surface;
  bool overlaps = false;  ///< whether a point of it is to be pushed
  bool turns() const { return surface.rolling_friction > 0 || surface.spinning_friction > 0; }
};

/// What sweeps go over: the points of a group, and their turns, empty without rolling and spinning friction.
struct GroupPoints {
  std::span<SolverPoint> points;
  std::span<SolverTurns> turns;
};

/// Brings tangential impulses into what friction can hold.
void limit_friction(const RigidSurface& surface, const ContactOptions& options, double normal_impulse, double& a, double& b);
/// One sweep over the points of a group.
void sweep_contacts(const SolverGroup& group, const GroupPoints& own, const ContactOptions& options, RigidVelocity& first,
                    RigidVelocity& second);
/// One sweep of pseudo-velocities.
void push_contacts(std::span<SolverPoint> points, RigidVelocity& first, RigidVelocity& second);
/// The impulses of the points, as they are, act.
void warm_contacts(const GroupPoints& own, RigidVelocity& first, RigidVelocity& second);

/// Makes a point: rows at `x`, tangents along `direction` where it is not zero, the velocities that must be reached.
void prepare_point(const ContactPoint& contact, const Vector3& direction, const WorldInertia& first, const Vector3& r_first,
                   const WorldInertia& second, const Vector3& r_second, double h, const ContactOptions& options,
                   SolverPoint& out);
/// The turns of the same point.
void prepare_turns(const ContactPoint& contact, const SolverPoint& point, const WorldInertia& first, const WorldInertia& second,
                   const ContactOptions& options, SolverTurns& out);

}  // namespace meniscus::solids
