/// Joints between two rigid bodies: equations for relative motion, solved as one block, with limits, motors and springs along the
/// motion that is left.
///
/// Sources: Müller, Stam, James and Thürey 2008, section 6.6 (impulses by Gauss-Seidel, drift by velocities); Cline and Pai,
/// "Post-stabilization for rigid body simulation with contact and constraints", 2003 (equations of joints); Catto, "Soft
/// constraints", 2011 (springs within the velocity solve).
#pragma once

#include "meniscus/solids/rigid/forms/rigid_form.hpp"

#include <limits>
#include <span>
#include <vector>

namespace meniscus::solids {

enum class JointKind : std::int8_t {
  ball,    ///< points of both bodies stay together
  hinge,   ///< and they turn about one axis
  slider,  ///< bodies keep their orientation, and move along one axis
  fixed,   ///< nothing moves
};

/// In axes of the bodies, points from their centres of mass. For sliders places are in m, for hinges in rad; balls have neither
/// limits nor motors.
struct Joint {
  std::array<std::int32_t, 2> bodies{};
  JointKind kind = JointKind::ball;
  std::array<Vector3, 2> points;
  std::array<Vector3, 2> axes;
  /// The orientation of the second body in axes of the first at the place 0 (w, x, y, z).
  std::array<double, 4> relative{1, 0, 0, 0};
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  double motor_speed = 0;  ///< rad/s or m/s
  double motor_limit = 0;  ///< N m or N; 0: no motor
  double stiffness = 0;    ///< N m/rad or N/m
  double damping = 0;      ///< N m s/rad or N s/m
  double rest = 0;         ///< place of the spring without force
};

/// What lasts from step to step.
struct JointMemory {
  std::array<double, 6> equations{};    ///< N s, N m s
  double low = 0, high = 0, motor = 0;  ///< impulses
  double spring = 0;
  double flew = 0;  ///< not 0: its tree has moved as a whole, with velocities that hold it in the middle of steps

  void scale(double s) {
    for (double& p : equations) p *= s;
    low *= s, high *= s, motor *= s, spring *= s;
  }
};
static_assert(sizeof(JointMemory) == 11 * sizeof(double));

/// A joint in a step.
struct JointRows {
  std::int32_t count = 0;  ///< of equations
  std::array<ImpulseRow, 6> rows;
  std::array<double, 6> errors{};   ///< m, rad
  std::array<double, 6> targets{};  ///< of relative velocities, m/s, rad/s
  Eigen::Matrix<double, 6, 6> inverse;
  bool moves = false;  ///< whether there is an axis along which something moves
  ImpulseRow free;
  double place = 0;  ///< m, rad
  double low_target = 0, high_target = 0;
  double softness = 0, spring_target = 0;  ///< of the spring: 1/kg, m/s
};

/// Directions across the axis of a joint: of the second body in its own axes, and the first of them as the first body has it at
/// the place 0.
struct JointAxes {
  Vector3 side, other, first_side;
};
JointAxes axes_of(const Joint& joint);
/// How many equations a joint is.
constexpr std::int32_t rows_of(JointKind kind) { return kind == JointKind::ball ? 3 : kind == JointKind::fixed ? 6 : 5; }

/// The place of a hinge or slider: rad in (-pi, pi], m.
double joint_place(const Joint& joint, const FormPose& first, const FormPose& second);
/// The same for the states of all bodies.
double joint_place(const Joint& joint, std::span<const RigidState> states);

/// What is wrong with the places of two bodies, in the order of the equations; returns how many these are.
std::int32_t joint_errors(const Joint& joint, const FormPose& first, const FormPose& second, std::array<double, 6>& errors);

/// A relative motion that a joint keeps from changing: the row times the linear and angular velocities of the first and of the
/// second body.
struct HeldMotion {
  std::int32_t joint;
  std::array<double, 12> row;
};
/// One for each equation of the joints, and one for each that pushes at a limit.
std::vector<HeldMotion> held_motions(std::span<const Joint> joints, std::span<const JointMemory> memory,
                                     std::span<const RigidState> states);

void prepare_joint(const Joint& joint, const FormPose& first, const WorldInertia& first_inertia, const FormPose& second,
                   const WorldInertia& second_inertia, double h, JointRows& out);
void warm_joint(const JointRows& rows, const JointMemory& memory, RigidVelocity& first, RigidVelocity& second);
/// Of the motion that is left: spring, motor, limits.
void sweep_free(const Joint& joint, const JointRows& rows, double h, JointMemory& memory, RigidVelocity& first,
                RigidVelocity& second);
/// Of the equations.
void sweep_joint(const JointRows& rows, JointMemory& memory, RigidVelocity& first, RigidVelocity& second);
/// Pseudo-velocities that remove the part `push` of the errors in a step.
void push_joint(JointRows& rows, double push, double h, RigidVelocity& first, RigidVelocity& second);

}  // namespace meniscus::solids
