/// Interface of the forces of a deformable body: energies, forces, differentials and damping, over all nodes at once.
///
/// A force depends on position and velocity: f(x, v) = elastic(x) + D(x) v, where D is negative semidefinite. An external force
/// that is linear in the velocity, such as drag in wind, adds its part at v = 0 to the elastic forces.
///
/// During a step of implicit Euler, between `begin_step` and `end_step`, forces have a potential: what no energy describes
/// (damping, normals in the wind, weights and choices of springs) stays as it was at the start of the step, and drag depends on
/// the velocity as it does in truth. The step is then the minimum of a function, which Newton's method finds.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace meniscus::solids {

/// Coordinates of points, one point after the other.
inline std::span<double> doubles_of(std::span<mesh::Point> points) {
  static_assert(sizeof(mesh::Point) == 3 * sizeof(double));
  return {reinterpret_cast<double*>(points.data()), 3 * points.size()};
}

/// A 3 x 3 block of a stiffness or damping matrix.
using Block3 = Eigen::Matrix3d;

/// Linearisation of the elastic forces.
enum class Tangent : std::int8_t {
  /// The derivative of the forces.
  exact,
  /// The derivative without its indefinite part, so that implicit steps always have a solution.
  definite,
  /// Directions, weights and rotations stay as they are (Selle 2008, section 5.5): linear springs act along their direction only.
  frozen,
};

/// Numbers with least K <= D <= most K (s) for the stiffness K and the damping D of forces, as quadratic forms: of damping that
/// is proportional to the stiffness they are equal.
struct DampingRatios {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();

  /// Includes one more element with the same directions of stiffness and damping.
  void add(double damping, double stiffness) {
    if (stiffness > 0) least = std::min(least, damping / stiffness);
    if (damping > 0) most = stiffness > 0 ? std::max(most, damping / stiffness) : std::numeric_limits<double>::infinity();
  }
};

/// Those of forces without stiffness and damping: no condition.
inline constexpr DampingRatios no_damping_ratios{std::numeric_limits<double>::infinity(), 0};

/// Those of drag, which has no stiffness.
inline constexpr DampingRatios only_damping{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};

/// How the velocities of two nodes pull on each other in a linearised force: the node a gets (w w^T + across I)(u_b - u_a), and b
/// the opposite. For preconditioners.
struct Coupling {
  std::array<float, 3> w;
  float across;
};

/// A force between the nodes of a body, which are rows of `x` (positions, m), `v` (velocities, m/s) and `f` (forces, N). Calls
/// are parallel inside; results do not depend on the number of threads. Nothing is allocated after construction, except where
/// stated.
class Force {
 public:
  virtual ~Force() = default;

  /// One more than the highest node that it acts on.
  virtual Index nodes() const = 0;

  /// Elastic energy at x, J; 0 for forces that have none.
  virtual double energy(std::span<const mesh::Point> x) const = 0;

  /// Whether the elastic forces are minus the derivative of that energy. Else they do work, which balances of energy count.
  virtual bool conservative() const { return true; }

  /// Adds the elastic forces at x.
  virtual void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const = 0;

  /// Sets the positions and the kind of linearisation for the three functions below.
  virtual void linearise(std::span<const mesh::Point> x, Tangent tangent) = 0;

  /// Adds scale times the change of the elastic forces under a small displacement dx.
  virtual void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const = 0;

  /// Whether there is any damping; without damping, explicit steps need no linearisation.
  virtual bool damped() const { return true; }

  /// Adds scale times the damping forces D v.
  virtual void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const = 0;

  /// Adds the diagonal blocks of stiffness_scale times the differentials plus damping_scale times the damping: for
  /// preconditioners.
  virtual void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const = 0;

  /// Pairs of nodes that are coupled as `couplings` says, without indefinite parts; always the same. None: only `add_diagonal`
  /// tells what the force does.
  virtual std::span<const std::array<std::int32_t, 2>> coupled() const { return {}; }

  /// stiffness_scale times the differentials plus damping_scale times the damping, per coupled pair; not negative.
  virtual void couplings(double /*stiffness_scale*/, double /*damping_scale*/, std::span<Coupling> /*out*/) const {}

  /// Adds to `stiffness`, per node, a bound of the change of its forces per displacement, N/m. Frequencies are then bounded by
  /// w^2 <= 2 max(stiffness / mass).
  virtual void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const = 0;

  /// Adds to `damping`, per node, a bound of the change of its damping forces per velocity, N s/m: rates of decay are then
  /// bounded by 2 max(damping / mass).
  virtual void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const = 0;

  /// Bounds of the ratio of damping to stiffness (the definite tangent) at x.
  virtual DampingRatios damping_ratios(std::span<const mesh::Point>) const { return {}; }

  /// The fastest relative change of a length within the force, 1/s, for time steps that limit the strain of one step; 0 for none.
  virtual double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const = 0;

  /// Begins a step of implicit Euler over dt seconds from x. Until `end_step`, add_damping means D(x), elastic forces are minus
  /// the gradient of the energy wherever the force has one, and drag is in the three functions below instead of among the elastic
  /// forces. May allocate in the first step.
  virtual void begin_step(std::span<const mesh::Point> x, double dt);
  virtual void end_step() {}

  /// Whether there is drag in the sense of the next two functions.
  virtual bool has_drag() const { return false; }

  /// Adds the drag at velocities v; returns its potential, W: minus the derivative of this with respect to v is the drag.
  virtual double add_drag(std::span<const mesh::Point>, std::span<mesh::Point>) const { return 0; }

  /// From now on, until `end_step`, add_damping and add_diagonal contain the derivative of the drag at velocities v.
  virtual void linearise_drag(std::span<const mesh::Point>) {}

  /// Adds damping_scale D u + stiffness_scale K u, in one pass where that is cheaper; the scales have the ratio of dt to dt^2 in
  /// a step of implicit Euler.
  virtual void add_tangent(std::span<const mesh::Point> u, double stiffness_scale, double damping_scale,
                           std::span<mesh::Point> f) const {
    if (damping_scale != 0 && damped()) add_damping(u, damping_scale, f);
    if (stiffness_scale != 0) add_differentials(u, stiffness_scale, f);
  }

  /// Memory of the force from step to step, such as directions that springs keep. It is state of the body: a failed step and a
  /// restored snapshot bring it back. Always the same memory; empty for most forces.
  virtual std::span<double> memory() { return {}; }

  /// Memory, bytes.
  virtual std::size_t nbytes() const = 0;
};

}  // namespace meniscus::solids
