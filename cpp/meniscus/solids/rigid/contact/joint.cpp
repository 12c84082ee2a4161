#include "meniscus/solids/rigid/contact/joint.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

Vector3 across(const Vector3& a) {
  Eigen::Index axis = 0;
  a.cwiseAbs().minCoeff(&axis);
  return a.cross(Vector3(Vector3::Unit(axis))).normalized();
}

double inverse_of_response(double x) { return x > 0 ? 1 / x : 0; }

/// The turn of the first body against the second beyond that at the place 0, as a vector in axes of the world, rad.
Vector3 turn_between(const Joint& joint, const FormPose& first, const FormPose& second) {
  const Eigen::Quaterniond rest(joint.relative[0], joint.relative[1], joint.relative[2], joint.relative[3]);
  const Eigen::Quaterniond a(first.rotation), b(second.rotation);
  Eigen::Quaterniond d = a * rest * b.conjugate();
  if (d.w() < 0) d.coeffs() = -d.coeffs();
  const double length = d.vec().norm();
  return length > 0 ? Vector3((2 * std::atan2(length, d.w()) / length) * d.vec()) : Vector3(2 * d.vec());
}

FormPose pose_of(const RigidState& s) { return {s.orientation().toRotationMatrix(), s.position}; }

}  // namespace

JointAxes axes_of(const Joint& joint) {
  const Vector3 side = across(joint.axes[1]);
  const Eigen::Quaterniond rest(joint.relative[0], joint.relative[1], joint.relative[2], joint.relative[3]);
  return {side, joint.axes[1].cross(side), rest * side};
}

double joint_place(const Joint& joint, const FormPose& first, const FormPose& second) {
  const Vector3 axis = second.rotation * joint.axes[1];
  if (joint.kind == JointKind::slider) return axis.dot(first(joint.points[0]) - second(joint.points[1]));
  const Vector3 turn = turn_between(joint, first, second);
  return joint.kind == JointKind::hinge ? axis.dot(turn) : 0.0;
}

double joint_place(const Joint& joint, std::span<const RigidState> states) {
  return joint_place(joint, pose_of(states[joint.bodies[0]]), pose_of(states[joint.bodies[1]]));
}

std::int32_t joint_errors(const Joint& joint, const FormPose& first, const FormPose& second, std::array<double, 6>& errors) {
  const Vector3 d = first(joint.points[0]) - second(joint.points[1]);
  const Vector3 s = second.rotation * across(joint.axes[1]), axis = second.rotation * joint.axes[1], t = axis.cross(s);
  std::int32_t count = 0;
  const auto add = [&](const Vector3& n, const Vector3& way) { errors[count++] = n.dot(way); };
  if (joint.kind == JointKind::slider) {
    for (const Vector3& n : {s, t}) add(n, d);
  } else {
    for (int k = 0; k < 3; ++k) errors[count++] = d[k];
  }
  if (joint.kind == JointKind::hinge) {
    const Vector3 tilt = axis.cross(first.rotation * joint.axes[0]);
    for (const Vector3& n : {s, t}) add(n, tilt);
  } else if (joint.kind != JointKind::ball) {
    const Vector3 turn = turn_between(joint, first, second);
    for (const Vector3& n : {s, t, axis}) add(n, turn);
  }
  return count;
}

void prepare_joint(const Joint& joint, const FormPose& first, const WorldInertia& m1, const FormPose& second,
                   const WorldInertia& m2, double h, JointRows& out) {
  const Vector3 r1 = first.rotation * joint.points[0];
  Vector3 r2 = second.rotation * joint.points[1];
  // Of a slider the force acts on the second body where the first one is.
  if (joint.kind == JointKind::slider) r2 = first(joint.points[0]) - second.position;
  const Vector3 s = second.rotation * across(joint.axes[1]), axis = second.rotation * joint.axes[1], t = axis.cross(s);
  out.targets = {};
  out.count = joint_errors(joint, first, second, out.errors);
  std::int32_t count = 0;
  const auto add = [&](const ImpulseRow& row) { out.rows[count++] = row; };
  if (joint.kind == JointKind::slider) {
    for (const Vector3& n : {s, t}) add(ImpulseRow(n, m1, r1, m2, r2));
  } else {
    for (int k = 0; k < 3; ++k) add(ImpulseRow(Vector3::Unit(k), m1, r1, m2, r2));
  }
  if (joint.kind == JointKind::hinge) {
    for (const Vector3& n : {s, t}) add(ImpulseRow::turn(n, m1, m2));
  } else if (joint.kind != JointKind::ball) {
    for (const Vector3& n : {s, t, axis}) add(ImpulseRow::turn(n, m1, m2));
  }
  Eigen::Matrix<double, 6, 6> a = Eigen::Matrix<double, 6, 6>::Identity();
  const Index n = out.count;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      const ImpulseRow &p = out.rows[i], &q = out.rows[j];
      a(i, j) = (q.inverse_mass[0] + q.inverse_mass[1]) * p.direction.dot(q.direction) + p.arm[0].dot(q.turned[0]) +
                p.arm[1].dot(q.turned[1]);
    }
  out.inverse = a.ldlt().solve(Eigen::Matrix<double, 6, 6>::Identity());
  out.moves = joint.kind == JointKind::hinge || joint.kind == JointKind::slider;
  if (!out.moves) return;
  out.free = joint.kind == JointKind::slider ? ImpulseRow(axis, m1, r1, m2, r2) : ImpulseRow::turn(axis, m1, m2);
  out.place = joint_place(joint, first, second);
  // What is beyond a limit returns within five steps; what is not may go as far as the limit.
  const auto allowed = [&](double way) { return way >= 0 ? -way / h : -0.2 * way / h; };
  out.low_target = allowed(out.place - joint.lowest);
  out.high_target = -allowed(joint.highest - out.place);
  // Implicit Euler of the spring: impulse = -h (k (x + h u) + c u).
  const double total = h * (h * joint.stiffness + joint.damping);
  out.softness = inverse_of_response(total);
  out.spring_target = -h * joint.stiffness * (out.place - joint.rest) * out.softness;
}

std::vector<HeldMotion> held_motions(std::span<const Joint> joints, std::span<const JointMemory> memory,
                                     std::span<const RigidState> states) {
  std::vector<HeldMotion> out;
  JointRows rows;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const auto [a, b] = joints[j].bodies;
    prepare_joint(joints[j], pose_of(states[a]), {}, pose_of(states[b]), {}, 1.0, rows);
    const auto add = [&](const ImpulseRow& row) {
      HeldMotion& motion = out.emplace_back(HeldMotion{static_cast<std::int32_t>(j), {}});
      for (std::size_t k = 0; k < 3; ++k) {
        const auto axis = static_cast<Index>(k);
        motion.row[k] = row.direction[axis], motion.row[k + 3] = row.arm[0][axis];
        motion.row[k + 6] = -row.direction[axis], motion.row[k + 9] = -row.arm[1][axis];
      }
    };
    for (std::int32_t i = 0; i < rows.count; ++i) add(rows.rows[i]);
    if (rows.moves && (memory[j].low != 0 || memory[j].high != 0)) add(rows.free);
  }
  return out;
}

void warm_joint(const JointRows& rows, const JointMemory& memory, RigidVelocity& first, RigidVelocity& second) {
  for (std::int32_t i = 0; i < rows.count; ++i) rows.rows[i].apply(memory.equations[i], first, second);
  if (rows.moves) rows.free.apply(memory.low + memory.high + memory.motor + memory.spring, first, second);
}

void sweep_free(const Joint& joint, const JointRows& rows, double h, JointMemory& memory, RigidVelocity& first,
                RigidVelocity& second) {
  if (!rows.moves) return;
  const auto change = [&](double& impulse, double value) {
    rows.free.apply(value - impulse, first, second);
    impulse = value;
  };
  const double mass = inverse_of_response(rows.free.response);
  if (rows.softness > 0) {
    const double u = rows.free.velocity(first, second);
    const double p = memory.spring;
    change(memory.spring, p + (rows.spring_target - u - rows.softness * p) / (rows.free.response + rows.softness));
  }
  if (joint.motor_limit > 0) {
    const double u = rows.free.velocity(first, second), most = h * joint.motor_limit;
    change(memory.motor, std::clamp(memory.motor + mass * (joint.motor_speed - u), -most, most));
  }
  if (joint.lowest > -std::numeric_limits<double>::infinity()) {
    const double u = rows.free.velocity(first, second);
    change(memory.low, std::max(0.0, memory.low + mass * (rows.low_target - u)));
  }
  if (joint.highest < std::numeric_limits<double>::infinity()) {
    const double u = rows.free.velocity(first, second);
    change(memory.high, std::min(0.0, memory.high + mass * (rows.high_target - u)));
  }
}

void sweep_joint(const JointRows& rows, JointMemory& memory, RigidVelocity& first, RigidVelocity& second) {
  Eigen::Matrix<double, 6, 1> u = Eigen::Matrix<double, 6, 1>::Zero();
  for (std::int32_t i = 0; i < rows.count; ++i) u[i] = rows.rows[i].velocity(first, second) - rows.targets[i];
  const Eigen::Matrix<double, 6, 1> p = rows.inverse * u;
  for (std::int32_t i = 0; i < rows.count; ++i) {
    rows.rows[i].apply(-p[i], first, second);
    memory.equations[i] -= p[i];
  }
}

void push_joint(JointRows& rows, double push, double h, RigidVelocity& first, RigidVelocity& second) {
  Eigen::Matrix<double, 6, 1> u = Eigen::Matrix<double, 6, 1>::Zero();
  for (std::int32_t i = 0; i < rows.count; ++i) u[i] = rows.rows[i].velocity(first, second) + push / h * rows.errors[i];
  const Eigen::Matrix<double, 6, 1> p = rows.inverse * u;
  for (std::int32_t i = 0; i < rows.count; ++i) rows.rows[i].apply(-p[i], first, second);
}

}  // namespace meniscus::solids
