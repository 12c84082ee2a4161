/// Interface of the forces of a deformable body: energies, forces, differentials and damping, over all nodes at once.
///
/// A force depends on position and velocity: f(x, v) = elastic(x) + D(x) v, where D is negative semidefinite. An external force
/// that is linear in the velocity, such as drag in wind, adds its part at v = 0 to the elastic forces.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <algorithm>
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

  /// Memory of the force from step to step, such as directions that springs keep. It is state of the body: a failed step and a
  /// restored snapshot bring it back. Always the same memory; empty for most forces.
  virtual std::span<double> memory() { return {}; }

  /// Memory, bytes.
  virtual std::size_t nbytes() const = 0;
};

}  // namespace meniscus::solids
