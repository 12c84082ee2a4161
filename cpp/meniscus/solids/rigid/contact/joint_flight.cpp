#include "meniscus/solids/rigid/contact/joint_flight.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

/// rad: steps in which a body turns further are taken in parts, since its turn is short by a twelfth of the square; no part of
/// one may end with more than the second of these.
constexpr double longest_turn = 0.25, most_turn = 0.75;
constexpr int most_parts = 1024, most_halvings = 6;
/// Of Newton's method, relative to the speeds of a tree: changes after which the next ones are those of rounding.
constexpr double near_enough = 1e-9;
constexpr int most_newton = 12;

Eigen::Matrix3d cross(const Vector3& v) {
  Eigen::Matrix3d m;
  m << 0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0;
  return m;
}

/// m: how far from its centre of mass turns of a body count.
double arm_of(const RigidInertia& m) { return std::sqrt(3 * m.inverse_mass / m.inverse_inertia.trace()); }

}  // namespace

/// The bodies of a tree within a step.
struct JointFlight::Tree {
  const FlightStart& start;
  const JointTrees& trees;
  std::size_t first, end;

  /// Where something that forces do not move is after a time.
  FormPose base(std::int32_t body, double time) const {
    const RigidState& s = start.states[body];
    const RigidVelocity& v = start.given[body];
    return {turned(s.orientation(), time * v.angular).toRotationMatrix(), s.position + time * v.linear};
  }
};

JointFlight::Carried JointFlight::carried(const Link* l, const FormPose* base, const Vector3& own, double h) const {
  Carried c;
  if (!l) {
    c.start = base[0].rotation * own;
    c.end = base[1].rotation * own;
    c.mean = 0.5 * (c.start + c.end);
    c.slope.setZero();
    return c;
  }
  c.start = l->turn * own;
  c.mean = l->mean * c.start;
  c.end = 2 * c.mean - c.start;
  c.slope = -0.5 * h * l->mean * cross(c.mean);
  return c;
}

void JointFlight::place_bodies(const Tree& tree, double h) {
  for (std::size_t i = tree.first; i < tree.end; ++i) {
    Link& l = links_[i];
    const std::int32_t body = tree.trees.link(i).body;
    const RigidVelocity& load = tree.start.loads[body];
    const Vector3 k = 0.5 * h * l.spin, momentum = l.inertia * l.spin;
    l.mean = (Eigen::Matrix3d::Identity() + cross(k) + k * k.transpose()) / (1 + k.squaredNorm());
    // Half of the change of the angular momentum that a turn about the mean leads to.
    const Vector3 change = l.mean * (momentum + k.cross(momentum) - l.state.angular_momentum);
    const double mass = 1 / tree.start.inertias[body].inverse_mass;
    l.lack.head<3>() = mass * l.velocity - l.state.momentum - 0.5 * h * load.linear;
    l.lack.tail<3>() = change - 0.5 * h * load.angular;
    l.own.setZero();
    l.own.topLeftCorner<3, 3>() = mass * Eigen::Matrix3d::Identity();
    l.own.bottomRightCorner<3, 3>() = l.mean * (l.inertia + cross(k) * l.inertia - 0.5 * h * cross(momentum + change));
  }
}

void JointFlight::place_joint(const Tree& tree, std::size_t i, double from, double h) {
  Link& l = links_[i];
  const TreeLink& t = tree.trees.link(i);
  const Joint& joint = tree.start.joints[t.joint];
  // By sides of the joint.
  const FormPose fixed[2] = {tree.base(joint.bodies[1 - t.side], from), tree.base(joint.bodies[1 - t.side], from + h)};
  Link* const parent = t.parent < 0 ? nullptr : &links_[t.parent];
  const std::array<const Link*, 2> at =
      t.side == 0 ? std::array<const Link*, 2>{&l, parent} : std::array<const Link*, 2>{parent, &l};
  std::array<Matrix6, 2> rows, slopes;
  // d lack of a side / d of a side.
  std::array<std::array<Matrix6, 2>, 2> bends;
  for (std::size_t a = 0; a < 2; ++a) {
    rows[a].setZero();
    slopes[a].setZero();
    for (std::size_t b = 0; b < 2; ++b) bends[a][b].setZero();
  }
  l.miss.setZero();
  const auto turning = [](Matrix6& m) { return m.bottomRightCorner<3, 3>(); };
  const auto lever = [](Matrix6& m) { return m.topRightCorner<3, 3>(); };
  const auto carry = [&](std::size_t side, const Vector3& own) { return carried(at[side], fixed, own, h); };
  const auto place = [&](std::size_t side, bool end) -> Vector3 {
    if (!at[side]) return fixed[end ? 1 : 0].position;
    return at[side]->state.position + (end ? h : 0) * at[side]->velocity;
  };
  const JointAxes axes = axes_of(joint);
  std::int32_t k = 0;
  const Carried r1 = carry(0, joint.points[0]), r2 = carry(1, joint.points[1]);
  const Vector3 d0 = place(0, false) + r1.start - place(1, false) - r2.start,
                d1 = place(0, true) + r1.end - place(1, true) - r2.end;
  // The way between two points along a direction that the second body carries, or that stays.
  const auto point_row = [&](const Carried& n, bool stays) {
    const double p = l.impulse[k];
    l.miss[k] = (n.end.dot(d1) - n.start.dot(d0)) / h;
    slopes[0].row(k) << n.end.transpose(), (2 / h) * n.end.transpose() * r1.slope;
    slopes[1].row(k) << -n.end.transpose(), (2 / h) * (d1.transpose() * n.slope - n.end.transpose() * r2.slope);
    const Vector3 arm = stays ? r2.mean : Vector3(r2.mean + 0.5 * (d0 + d1));
    rows[0].row(k) << n.mean.transpose(), r1.mean.cross(n.mean).transpose();
    rows[1].row(k) << -n.mean.transpose(), -arm.cross(n.mean).transpose();
    const Eigen::Matrix3d across = p * cross(n.mean);
    turning(bends[0][0]) += across * r1.slope;
    if (stays) {
      turning(bends[1][1]) -= across * r2.slope;
    } else {
      // The force acts on the second body where the first one is.
      lever(bends[0][1]) -= p * n.slope;
      lever(bends[1][1]) += p * n.slope;
      turning(bends[0][1]) -= p * cross(r1.mean) * n.slope;
      turning(bends[1][0]) -= across * r1.slope;
      turning(bends[1][1]) += p * cross(arm) * n.slope;
      bends[1][0].bottomLeftCorner<3, 3>() -= 0.5 * h * across;
      bends[1][1].bottomLeftCorner<3, 3>() += 0.5 * h * across;
    }
    ++k;
  };
  // Of directions of both bodies that are across each other.
  const auto turn_row = [&](const Carried& a, const Carried& s) {
    const double p = l.impulse[k];
    l.miss[k] = (s.end.dot(a.end) - s.start.dot(a.start)) / h;
    slopes[0].row(k).tail<3>() = (2 / h) * s.end.transpose() * a.slope;
    slopes[1].row(k).tail<3>() = (2 / h) * a.end.transpose() * s.slope;
    const Vector3 axis = a.mean.cross(s.mean);
    rows[0].row(k).tail<3>() = axis.transpose();
    rows[1].row(k).tail<3>() = -axis.transpose();
    const Eigen::Matrix3d first = p * cross(s.mean) * a.slope, second = p * cross(a.mean) * s.slope;
    turning(bends[0][0]) += first;
    turning(bends[0][1]) -= second;
    turning(bends[1][0]) -= first;
    turning(bends[1][1]) += second;
    ++k;
  };
  const Carried s2 = carry(1, axes.side), t2 = carry(1, axes.other);
  if (joint.kind == JointKind::slider) {
    point_row(s2, false);
    point_row(t2, false);
  } else {
    for (int axis = 0; axis < 3; ++axis)
      point_row({Vector3::Unit(axis), Vector3::Unit(axis), Vector3::Unit(axis), Eigen::Matrix3d::Zero()}, true);
  }
  if (joint.kind != JointKind::ball) {
    const Carried a1 = carry(0, joint.axes[0]);
    Carried less = t2;
    less.start *= -1, less.mean *= -1, less.end *= -1, less.slope *= -1;
    turn_row(a1, less);
    turn_row(a1, s2);
  }
  if (joint.kind == JointKind::slider || joint.kind == JointKind::fixed) turn_row(carry(0, axes.first_side), t2);
  const std::size_t own = t.side, other = 1 - own;
  l.rows = rows[own], l.slopes = slopes[own];
  l.lack -= l.rows.transpose() * l.impulse;
  l.own += bends[own][own];
  // What a joint does not need stays as it is.
  for (; k < 6; ++k) l.miss[k] = 0;
  if (!parent) return;
  l.parent_rows = rows[other], l.parent_slopes = slopes[other];
  l.from_parent = bends[own][other], l.to_parent = bends[other][own];
  parent->lack -= l.parent_rows.transpose() * l.impulse;
  parent->own += bends[other][other];
}

double JointFlight::update(const Tree& tree, double h) {
  using Matrix12 = Eigen::Matrix<double, 12, 12>;
  for (std::size_t i = tree.end; i-- > tree.first;) {
    Link& l = links_[i];
    const TreeLink& t = tree.trees.link(i);
    if (t.joint < 0) {
      l.solved.setZero();
      l.solved.head<6>() = l.own.partialPivLu().solve(-l.lack);
      continue;
    }
    Matrix12 m = Matrix12::Zero();
    m.topLeftCorner<6, 6>() = l.own;
    m.topRightCorner<6, 6>() = -l.rows.transpose();
    m.bottomLeftCorner<6, 6>() = l.slopes;
    for (Eigen::Index k = 6 + rows_of(tree.start.joints[t.joint].kind); k < 12; ++k) m(k, k) = 1;
    Eigen::Matrix<double, 12, 7> right;
    right.setZero();
    right.col(0) << -l.lack, -l.miss;
    if (t.parent >= 0) right.rightCols<6>() << l.from_parent, l.parent_slopes;
    const Eigen::Matrix<double, 12, 7> x = m.partialPivLu().solve(right);
    l.solved = x.col(0);
    l.response = x.rightCols<6>();
    if (t.parent < 0) continue;
    Eigen::Matrix<double, 6, 12> up;
    up << l.to_parent, -l.parent_rows.transpose();
    links_[t.parent].own -= up * l.response;
    links_[t.parent].lack += up * l.solved;
  }
  double most = 0;
  for (std::size_t i = tree.first; i < tree.end; ++i) {
    Link& l = links_[i];
    const TreeLink& t = tree.trees.link(i);
    if (t.parent >= 0) l.solved -= l.response * links_[t.parent].solved.head<6>();
    l.velocity += l.solved.head<3>();
    l.spin += l.solved.segment<3>(3);
    if (t.joint >= 0) l.impulse += l.solved.tail<6>();
    const double arm = arm_of(tree.start.inertias[t.body]),
                 change = l.solved.head<3>().norm() + arm * l.solved.segment<3>(3).norm();
    most = std::max(most, change);
    if (!(h * l.spin.norm() <= most_turn) || !std::isfinite(change)) return std::numeric_limits<double>::infinity();
  }
  return most;
}

bool JointFlight::fly_part(const Tree& tree, double from, double h) {
  double speed = 0;
  for (std::size_t i = tree.first; i < tree.end; ++i) {
    Link& l = links_[i];
    const std::int32_t body = tree.trees.link(i).body;
    const RigidInertia& m = tree.start.inertias[body];
    const RigidVelocity& load = tree.start.loads[body];
    l.turn = l.state.orientation().toRotationMatrix();
    l.inertia = l.turn * m.inverse_inertia.inverse() * l.turn.transpose();
    l.velocity = m.inverse_mass * (l.state.momentum + 0.5 * h * load.linear);
    l.spin = angular_velocity(m, l.state.orientation(), l.state.angular_momentum);
    speed = std::max(speed, l.velocity.norm() + arm_of(m) * l.spin.norm() + h * m.inverse_mass * load.linear.norm());
  }
  double before = std::numeric_limits<double>::infinity();
  for (int k = 0; k < most_newton; ++k) {
    place_bodies(tree, h);
    for (std::size_t i = tree.end; i-- > tree.first;)
      if (tree.trees.link(i).joint >= 0) place_joint(tree, i, from, h);
    const double change = update(tree, h);
    if (change <= near_enough * speed) {
      // Of this last change the ends are those of the next iteration.
      break;
    }
    if (k + 1 == most_newton || !(change < 1e6 * speed) || (k > 3 && change > before)) return false;
    before = change;
  }
  place_bodies(tree, h);
  for (std::size_t i = tree.first; i < tree.end; ++i) {
    Link& l = links_[i];
    RigidState& s = l.state;
    const RigidVelocity& load = tree.start.loads[tree.trees.link(i).body];
    s.position += h * l.velocity;
    const Vector3 k = 0.5 * h * l.spin;
    const Eigen::Quaterniond q = (Eigen::Quaterniond(1, k[0], k[1], k[2]) * s.orientation()).normalized();
    s.quaternion = {q.w(), q.x(), q.y(), q.z()};
    s.momentum += 2 * l.lack.head<3>() + h * load.linear;
    s.angular_momentum += 2 * l.lack.tail<3>() + h * load.angular;
    l.total += 2 * l.impulse;
  }
  return true;
}

bool JointFlight::fly(const JointTrees& trees, std::size_t t, const FlightStart& start, std::span<RigidState> ends,
                      std::span<JointMemory> memory) {
  const auto [first, end] = trees.extent(t);
  const Tree tree{start, trees, first, end};
  double turn = 0;
  for (std::size_t i = first; i < end; ++i) {
    const std::int32_t body = trees.link(i).body;
    const RigidState& s = start.states[body];
    turn = std::max(turn, start.dt * angular_velocity(start.inertias[body], s.orientation(), s.angular_momentum).norm());
  }
  if (!(turn <= most_parts * longest_turn)) return false;
  int parts = std::max(1, static_cast<int>(std::ceil(turn / longest_turn)));
  bool done = false;
  for (int halved = 0; !done && halved <= most_halvings; ++halved, parts *= 2) {
    const double h = start.dt / parts;
    for (std::size_t i = first; i < end; ++i) {
      const TreeLink& l = trees.link(i);
      links_[i].state = start.states[l.body];
      links_[i].total.setZero();
      links_[i].impulse.setZero();
      if (l.joint >= 0)
        for (Eigen::Index k = 0; k < 6; ++k) links_[i].impulse[k] = 0.5 / parts * memory[l.joint].equations[k];
    }
    done = true;
    for (int k = 0; k < parts && done; ++k) done = fly_part(tree, k * h, h);
  }
  if (!done) return false;
  for (std::size_t i = first; i < end; ++i) {
    const TreeLink& l = trees.link(i);
    ends[l.body] = links_[i].state;
    if (l.joint < 0) continue;
    memory[l.joint] = {.flew = 1};
    for (Eigen::Index k = 0; k < 6; ++k) memory[l.joint].equations[k] = links_[i].total[k];
  }
  return true;
}

Index JointFlight::nbytes() const { return static_cast<Index>(links_.capacity() * sizeof(Link)); }

}  // namespace meniscus::solids
