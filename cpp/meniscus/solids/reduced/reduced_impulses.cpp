#include "meniscus/core/error.hpp"
#include "meniscus/solids/reduced/reduced_motion.hpp"

#include <cmath>

namespace meniscus::solids {

using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using Eigen::VectorXd;

Quaterniond turned_in_frame(const Quaterniond& q, const Vector3d& turn) {
  const double angle = turn.norm();
  const double part = angle < 1e-4 ? 0.5 - angle * angle / 48 : std::sin(0.5 * angle) / angle;
  Quaterniond d;
  d.w() = std::cos(0.5 * angle);
  d.vec() = part * turn;
  return (q * d).normalized();
}

const VectorXd& ReducedMotion::next_coordinates() {
  q1_ = q_;
  if (in_step_) q1_ = predicted_q_ + position_factor_.cwiseProduct(v_ - predicted_v_);
  return q1_;
}

RigidState ReducedMotion::next_frame() {
  RigidState next = frame_;
  if (!in_step_ || model_->held()) return next;
  next_coordinates();
  middle_q_ = 0.5 * (q_ + q1_);
  middle_v_ = 0.5 * (start_v_ + v_);
  const Vector3d w = turn_in_step(frame_.angular_momentum);
  const Quaterniond end = turned_in_frame(frame_.orientation(), step_.dt * w);
  next.quaternion = {end.w(), end.x(), end.y(), end.z()};
  // As for the coordinates: the velocity at the end, or the mean of those at start and end.
  const Vector3d momentum = step_.method == ReducedMethod::implicit_euler ? Vector3d(frame_.momentum)
                                                                          : Vector3d(0.5 * (start_momentum_ + frame_.momentum));
  next.position += (step_.dt / model_->mass()) * momentum;
  return next;
}

void ReducedMotion::finish() {
  require(in_step_, "finish must follow predict");
  const RigidState next = next_frame();
  q_ = next_coordinates();
  frame_ = next;
  in_step_ = false;
}

void ReducedMotion::finish_with(const VectorXd& velocities, const VectorXd& momenta) {
  const Matrix3d r = rotation();
  v_ += velocities.tail(model_->size());
  if (!model_->held()) {
    frame_.momentum += r * momenta.head<3>();
    frame_.angular_momentum += r * momenta.segment<3>(3);
  }
  finish();
  if (model_->held() || step_.method != ReducedMethod::implicit_euler) return;
  // The frame has turned with the mean of the momenta at start and end.
  const Vector3d rest = (0.5 * step_.dt) * velocities.segment<3>(3);
  if (rest.squaredNorm() == 0) return;
  const Quaterniond q = turned_in_frame(frame_.orientation(), rest);
  frame_.quaternion = {q.w(), q.x(), q.y(), q.z()};
}

void ReducedMotion::bound(const ReducedBounds& bounds) {
  const double amplitude = q_.norm() * bounds.largest_row, rate = v_.norm() * bounds.largest_row;
  if (amplitude > bounds.displacement) {
    q_ *= bounds.displacement / amplitude;
    v_.setZero();
  } else if (rate > bounds.speed) {
    v_ *= bounds.speed / rate;
  }
  if (model_->held()) return;
  const double speed = frame_.momentum.norm() / model_->mass();
  if (speed > bounds.speed) frame_.momentum *= bounds.speed / speed;
  const double turning = angular_velocity().norm() * bounds.reach;
  if (turning > bounds.speed) frame_.angular_momentum *= bounds.speed / turning;
}

ReducedStepInfo ReducedMotion::taken(ReducedStepInfo info) {
  if (!(v1_.allFinite() && q1_.allFinite())) {
    v1_ = start_v_;
    q1_ = q_ + position_factor_.cwiseProduct(v1_);
    effective_.setIdentity();
  }
  info.converged = true;
  return info;
}

void ReducedMotion::positions(std::span<mesh::Point> out) const { model_->positions(q_, rotation(), frame_.position, out); }

void ReducedMotion::next_positions(std::span<const std::int32_t> nodes, std::span<mesh::Point> out) {
  const RigidState next = next_frame();
  const Matrix3d r = next.orientation().toRotationMatrix();
  next_coordinates();
  for (std::size_t i = 0; i < nodes.size(); ++i) out[i] = next.position + r * model_->place(nodes[i], q1_);
}

void ReducedMotion::velocities(std::span<mesh::Point> out) {
  const Vector3d linear = model_->held() ? Vector3d(Vector3d::Zero()) : Vector3d(frame_.momentum / model_->mass());
  model_->velocities(q_, v_, rotation(), linear, angular_velocity(), out);
}

std::array<double, 2> ReducedMotion::energy() {
  double kinetic = 0.5 * v_.squaredNorm();
  if (!model_->held()) {
    const Vector3d w = angular_velocity();
    Matrix3d j;
    model_->inertia(q_, j, coupling_, products_);
    kinetic += 0.5 * w.dot(j * w) + w.dot(coupling_ * v_) + 0.5 * frame_.momentum.squaredNorm() / model_->mass();
  }
  return {kinetic, forces_->at(q_, gradient_, nullptr)};
}

Vector3d ReducedMotion::angular_velocity() {
  if (model_->held()) return Vector3d::Zero();
  return turn_rate(q_, v_, frame_.orientation(), frame_.angular_momentum, coupling_);
}

void ReducedMotion::set_velocity(const mesh::Point& linear, const mesh::Point& angular) {
  if (model_->held()) return;
  const Matrix3d r = rotation();
  Matrix3d j;
  model_->inertia(q_, j, coupling_, products_);
  frame_.momentum = model_->mass() * linear;
  frame_.angular_momentum = r * (j * (r.transpose() * Vector3d(angular)) + coupling_ * v_);
}

void ReducedMotion::directions(const ReducedPoint& point, ThreeRows& out) {
  coupling_.setZero();
  Vector3d x = Vector3d::Zero();
  double whole = 0;
  for (std::size_t k = 0; k < point.nodes.size(); ++k) {
    model_->add_rows(point.nodes[k], point.weights[k], q_, coupling_);
    x += point.weights[k] * model_->place(point.nodes[k], q_);
    whole += point.weights[k];
  }
  out.rightCols(model_->size()) = coupling_;
  if (model_->held()) return;
  out.leftCols(3) = whole * Matrix3d::Identity();
  // w x X as a matrix times w.
  out.middleCols(3, 3) << 0, x[2], -x[1], -x[2], 0, x[0], x[1], -x[0], 0;
}

void ReducedMotion::generalised_velocity(VectorXd& out) {
  out.tail(model_->size()) = v_;
  if (model_->held()) return;
  out.segment(3, 3) = angular_velocity();
  out.head(3) = rotation().transpose() * (frame_.momentum / model_->mass());
}

void ReducedMotion::solve_mass(Eigen::MatrixXd& columns) const { mass_factor_.solveInPlace(columns); }

void ReducedMotion::add_velocity(const VectorXd& change) {
  require(change.size() == degrees(), "there must be ", degrees(), " velocities, not ", change.size());
  v_ += change.tail(model_->size());
  if (model_->held()) return;
  const Matrix3d r = rotation();
  Matrix3d j;
  model_->inertia(q_, j, coupling_, products_);
  frame_.momentum += model_->mass() * (r * change.head(3));
  frame_.angular_momentum += r * (j * change.segment(3, 3) + coupling_ * change.tail(model_->size()));
}

void ReducedMotion::displace(const VectorXd& way) {
  require(way.size() == degrees(), "there must be ", degrees(), " displacements, not ", way.size());
  q_ += way.tail(model_->size());
  if (model_->held()) return;
  frame_.position += rotation() * way.head(3);
  const Quaterniond turned = turned_in_frame(frame_.orientation(), way.segment(3, 3));
  frame_.quaternion = {turned.w(), turned.x(), turned.y(), turned.z()};
}

void ReducedMotion::apply_impulse(const ReducedPoint& point, const mesh::Point& impulse) {
  const Matrix3d r = rotation();
  directions(point, directions_);
  generalised_.noalias() = directions_.transpose() * Vector3d(r.transpose() * impulse);
  response_ = generalised_;
  mass_factor_.solveInPlace(response_);
  v_ += response_.tail(model_->size());
  if (model_->held()) return;
  frame_.momentum += r * generalised_.head(3);
  frame_.angular_momentum += r * generalised_.segment(3, 3);
}

}  // namespace meniscus::solids
