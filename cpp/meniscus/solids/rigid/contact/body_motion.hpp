/// Velocities of rigid bodies while contacts and joints act on them, and what resists impulses.
#pragma once

#include "meniscus/solids/rigid/rigid_motion.hpp"

namespace meniscus::solids {

using Vector3 = Vec<double, 3>;

/// What a solve changes of a body.
struct RigidVelocity {
  Vector3 linear = Vector3::Zero();   ///< of the centre of mass, m/s
  Vector3 angular = Vector3::Zero();  ///< rad/s
};

/// What resists: zeros for bodies that forces do not move.
struct WorldInertia {
  double inverse_mass = 0;                                    ///< 1/kg
  Eigen::Matrix3d inverse_inertia = Eigen::Matrix3d::Zero();  ///< in axes of the world, 1/(kg m^2)
  bool dynamic() const { return inverse_mass > 0; }
};

/// Velocities and inertias of all bodies.
struct MovingBodies {
  std::span<RigidVelocity> velocities;
  std::span<const WorldInertia> inertias;
};

/// An impulse along a direction at a point, on the first body, and its opposite on the second: how relative velocity follows from
/// velocities, and velocities from the impulse. (w_A and w_B of Müller et al. 2008, section 6.3, are the parts of `response`.)
struct ImpulseRow {
  Vector3 direction = Vector3::Zero();
  std::array<Vector3, 2> arm;     ///< r x direction
  std::array<Vector3, 2> turned;  ///< inverse inertia of that
  std::array<double, 2> inverse_mass{};
  double response = 0;  ///< change of the relative velocity per impulse, 1/kg

  ImpulseRow() { arm.fill(Vector3::Zero()), turned.fill(Vector3::Zero()); }
  ImpulseRow(const Vector3& d, const WorldInertia& first, const Vector3& r_first, const WorldInertia& second,
             const Vector3& r_second)
      : direction(d), arm{r_first.cross(d), r_second.cross(d)}, inverse_mass{first.inverse_mass, second.inverse_mass} {
    turned = {first.inverse_inertia * arm[0], second.inverse_inertia * arm[1]};
    response = inverse_mass[0] + inverse_mass[1] + arm[0].dot(turned[0]) + arm[1].dot(turned[1]);
  }
  /// A turn about an axis: of the angular velocities alone.
  static ImpulseRow turn(const Vector3& axis, const WorldInertia& first, const WorldInertia& second) {
    ImpulseRow row;
    row.arm = {axis, axis};
    row.turned = {first.inverse_inertia * axis, second.inverse_inertia * axis};
    row.response = axis.dot(row.turned[0]) + axis.dot(row.turned[1]);
    return row;
  }
  double velocity(const RigidVelocity& first, const RigidVelocity& second) const {
    return direction.dot(first.linear - second.linear) + arm[0].dot(first.angular) - arm[1].dot(second.angular);
  }
  void apply(double impulse, RigidVelocity& first, RigidVelocity& second) const {
    first.linear += (impulse * inverse_mass[0]) * direction;
    second.linear -= (impulse * inverse_mass[1]) * direction;
    first.angular += impulse * turned[0];
    second.angular -= impulse * turned[1];
  }
};

}  // namespace meniscus::solids
