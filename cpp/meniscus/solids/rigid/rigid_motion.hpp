/// Motion of rigid bodies in flight: momenta change with forces and torques, and the orientation turns with the momenta.
///
/// Sources: Müller, Stam, James and Thürey, "Real time physics", 2008, sections 6.1 and 6.2; Hairer, Lubich and Wanner,
/// "Geometric numerical integration", 2006, sections IV.8 (steps on the group of rotations) and V.3 (composition); Simo and Wong,
/// "Unconditionally stable algorithms for rigid body dynamics that exactly preserve energy and momentum", 1991.
#pragma once

#include "meniscus/core/types.hpp"

#include <Eigen/Geometry>
#include <span>

namespace meniscus::solids {

/// What changes of a rigid body, as a row of an array.
struct RigidState {
  Vec<double, 3> position;           ///< of the centre of mass, m
  std::array<double, 4> quaternion;  ///< unit, (w, x, y, z): from the axes of the body to those of the world
  Vec<double, 3> momentum;           ///< kg m/s
  Vec<double, 3> angular_momentum;   ///< about the centre of mass, kg m^2/s

  Eigen::Quaterniond orientation() const { return {quaternion[0], quaternion[1], quaternion[2], quaternion[3]}; }
};
static_assert(sizeof(RigidState) == 13 * sizeof(double));

/// What resists the motion; zeros for a body that nothing moves.
struct RigidInertia {
  double inverse_mass;                                           ///< 1/kg
  Eigen::Matrix<double, 3, 3, Eigen::RowMajor> inverse_inertia;  ///< about the centre of mass, in axes of the body, 1/(kg m^2)
};
static_assert(sizeof(RigidInertia) == 10 * sizeof(double));

enum class RigidMethod : std::int8_t {
  /// The orientation turns about the mean of the angular velocities at both ends of the step, of which the one at the end is
  /// found with the orientation there: second order, symmetric in time; without torques energy and momentum stay as they are.
  midpoint,
  /// Three such steps, the middle one backwards: fourth order.
  fourth_order,
  /// As printed: R + dt skew(omega) R, whose columns grow. Here with the mass that the printed line lacks.
  explicit_euler,
};

/// The orientation after turning about a vector, rad.
Eigen::Quaterniond turned(const Eigen::Quaterniond& q, const Vec<double, 3>& turn);

/// The orientation after dt seconds of a body of a given orientation and angular momentum on which no torque acts.
Eigen::Quaterniond turned_freely(const RigidInertia& inertia, Eigen::Quaterniond q, const Vec<double, 3>& momentum, double dt);

/// The angular velocity (rad/s) of a body of a given orientation and angular momentum.
Vec<double, 3> angular_velocity(const RigidInertia& inertia, const Eigen::Quaterniond& orientation,
                                const Vec<double, 3>& momentum);

/// Moves bodies over `steps` steps of dt seconds each, with constant forces (N) and torques (N m) about their centres. Parallel
/// over bodies, each on its own. `matrices`, for explicit Euler only, are the rotations (rows), which are no longer rotations
/// after it; quaternions are then those of the closest rotations.
void move_rigid_bodies(std::span<RigidState> states, std::span<const RigidInertia> inertias,
                       std::span<const Vec<double, 3>> forces, std::span<const Vec<double, 3>> torques, double dt, Index steps,
                       RigidMethod method, std::span<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> matrices = {});

}  // namespace meniscus::solids
