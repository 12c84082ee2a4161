#include "meniscus/solids/reduced/reduced_motion.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr int most_turn_iterations = 12;
constexpr int most_halvings = 12;

}  // namespace

ReducedMotion::ReducedMotion(std::shared_ptr<const ReducedModel> model, std::shared_ptr<ReducedForces> forces)
    : model_(std::move(model)), forces_(std::move(forces)) {
  const Index r = model_->size();
  require(forces_->size() == r, "forces must have as many coordinates as the basis");
  for (VectorXd* v : {&q_,
                      &v_,
                      &start_v_,
                      &predicted_v_,
                      &predicted_q_,
                      &position_factor_,
                      &load_,
                      &load_now_,
                      &q1_,
                      &v1_,
                      &middle_q_,
                      &middle_v_,
                      &gradient_,
                      &start_gradient_,
                      &turning_,
                      &start_coupling_,
                      &end_coupling_,
                      &residual_,
                      &change_,
                      &trial_,
                      &damping_,
                      &rate_force_})
    *v = VectorXd::Zero(r);
  generalised_ = response_ = VectorXd::Zero(degrees());
  stiffness_ = effective_ = Eigen::MatrixXd::Identity(r, r);
  products_ = Eigen::MatrixXd::Zero(9, r);
  mass_ = Eigen::MatrixXd::Identity(degrees(), degrees());
  coupling_ = ThreeRows::Zero(3, r);
  directions_ = ThreeRows::Zero(3, degrees());
  mass_factor_ = Eigen::LLT<Eigen::MatrixXd>(degrees());
  step_factor_ = Eigen::LLT<Eigen::MatrixXd>(r);
  step_lu_ = Eigen::PartialPivLU<Eigen::MatrixXd>(r);
  oscillators_.resize(r, 6);
  load_force_ = load_torque_ = start_momentum_ = start_angular_ = Vector3d::Zero();
  frame_ = {.position = model_->centre(),
            .quaternion = {1, 0, 0, 0},
            .momentum = Vector3d::Zero(),
            .angular_momentum = Vector3d::Zero()};
}

void ReducedMotion::load(std::span<const double> q, std::span<const double> v, const RigidState& frame) {
  q_ = Eigen::Map<const VectorXd>(q.data(), static_cast<Eigen::Index>(q.size()));
  v_ = Eigen::Map<const VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
  frame_ = frame;
  in_step_ = false;
}

void ReducedMotion::clear_loads() {
  load_.setZero();
  load_force_.setZero();
  load_torque_.setZero();
}

void ReducedMotion::add_loads(std::span<const std::int32_t> nodes, std::span<const mesh::Point> forces) {
  const Matrix3d r = rotation();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Vector3d f = r.transpose() * forces[i];
    coupling_.setZero();
    model_->add_rows(nodes[i], 1, q_, coupling_);
    load_.noalias() += coupling_.transpose() * f;
    load_force_ += forces[i];
    load_torque_ += (r * model_->place(nodes[i], q_)).cross(forces[i]);
  }
}

Vector3d ReducedMotion::turn_rate(const VectorXd& q, const VectorXd& v, const Quaterniond& orientation, const Vector3d& momentum,
                                  ThreeRows& coupling) {
  Matrix3d j;
  model_->inertia(q, j, coupling, products_);
  const Vector3d own = coupling * v;
  return j.llt().solve(orientation.conjugate() * momentum - own);
}

Vector3d ReducedMotion::turn_in_step(const Vector3d& momentum_end) {
  const Vector3d momentum = 0.5 * (start_angular_ + momentum_end);
  const Quaterniond start = frame_.orientation();
  Vector3d w = turn_rate(middle_q_, middle_v_, start, momentum, coupling_);
  for (int i = 0; i < most_turn_iterations; ++i) {
    const Vector3d next = turn_rate(middle_q_, middle_v_, turned_in_frame(start, 0.5 * step_.dt * w), momentum, coupling_);
    const bool done = (next - w).norm() <= 1e-15 * next.norm();
    w = next;
    if (done) break;
  }
  return w;
}

void ReducedMotion::set_turning_terms(const Vector3d& end_momentum) {
  middle_q_ = 0.5 * (q_ + q1_);
  middle_v_ = 0.5 * (start_v_ + v1_);
  const Vector3d w = turn_in_step(end_momentum);
  turning_.setZero();
  model_->add_turning_forces(middle_q_, middle_v_, w, turning_, products_);
  const Quaterniond end = turned_in_frame(frame_.orientation(), step_.dt * w);
  const Vector3d w1 = turn_rate(q1_, v1_, end, end_momentum, coupling_);
  end_coupling_.noalias() = coupling_.transpose() * w1;
  turning_ -= (end_coupling_ - start_coupling_) / step_.dt;
}

ReducedStepInfo ReducedMotion::predict(const ReducedStep& step) {
  step_ = step;
  start_v_ = v_;
  start_momentum_ = frame_.momentum;
  start_angular_ = frame_.angular_momentum;
  load_now_ = load_;
  const Vector3d weight = rotation().transpose() * step.gravity;
  model_->first_moment(q_, coupling_);
  load_now_.noalias() += coupling_.transpose() * weight;
  damping_ = (step.mass_damping + step.stiffness_damping * model_->eigenvalues().array()).matrix();
  if (!model_->held()) {
    frame_.momentum += step.dt * (load_force_ + model_->mass() * Vector3d(step.gravity));
    frame_.angular_momentum += step.dt * load_torque_;
    const Vector3d w0 = turn_rate(q_, v_, frame_.orientation(), start_angular_, coupling_);
    start_coupling_.noalias() = coupling_.transpose() * w0;
  }
  turning_.setZero();
  ReducedStepInfo info = step.method == ReducedMethod::recurrence ? solve_recurrence() : solve_step();
  if (!info.converged && step.bounded) info = taken(info);
  if (!info.converged) return info;
  v_ = v1_;
  predicted_v_ = v1_;
  predicted_q_ = q1_;
  in_step_ = true;
  factor_mass();
  return info;
}

ReducedStepInfo ReducedMotion::solve_step() {
  const bool euler = step_.method == ReducedMethod::implicit_euler;
  const double dt = step_.dt, part = euler ? 1.0 : 0.5;
  const bool held = model_->held();
  position_factor_.setConstant(part * dt);
  forces_->at(q_, start_gradient_, nullptr);
  const auto evaluate = [&](Eigen::MatrixXd* stiffness) {
    q1_ = q_ + (part * dt) * v1_;
    if (!euler) q1_ += (0.5 * dt) * start_v_;
    if (!held) set_turning_terms(frame_.angular_momentum);
    forces_->at(q1_, gradient_, stiffness);
    residual_ = (v1_ - start_v_) - dt * (load_now_ + turning_) + (part * dt) * (gradient_ + damping_.cwiseProduct(v1_));
    if (!euler) residual_ += (0.5 * dt) * (start_gradient_ + damping_.cwiseProduct(start_v_));
    return residual_.norm();
  };
  ReducedStepInfo info;
  v1_ = start_v_;
  info.residual = evaluate(&stiffness_);
  for (;; ++info.iterations) {
    effective_ = (part * dt * part * dt) * stiffness_;
    effective_.diagonal().array() += 1 + part * dt * damping_.array();
    const double scale = start_v_.norm() + v1_.norm() + dt * (load_now_.norm() + gradient_.norm() + start_gradient_.norm());
    if (info.residual <= step_.tolerance * scale) {
      info.converged = std::isfinite(info.residual);
      return info;
    }
    if (info.iterations >= step_.max_iterations || !std::isfinite(info.residual)) return info;
    step_factor_.compute(effective_);
    if (step_factor_.info() == Eigen::Success) {
      change_ = residual_;
      step_factor_.solveInPlace(change_);
    } else {
      step_lu_.compute(effective_);
      change_ = step_lu_.solve(residual_);
    }
    trial_ = v1_;
    const double before = info.residual;
    double length = 1;
    for (int halving = 0;; ++halving, length *= 0.5) {
      v1_ = trial_ - length * change_;
      info.residual = evaluate(&stiffness_);
      if (info.residual < before || halving == most_halvings) break;
    }
    // Rounding errors of the residual are all that is left.
    if (info.residual >= before && change_.norm() <= 1e-9 * (1e-300 + v1_.norm())) {
      info.converged = true;
      return info;
    }
  }
}

void ReducedMotion::set_oscillators() {
  const double dt = step_.dt;
  for (Index a = 0; a < model_->size(); ++a) {
    // Of x'' + 2 s x' + k x = f: x = f / k + exp(-s t) (C (x0 - f / k) + S (v0 + s (x0 - f / k))), with C and S the cosine and
    // sine.
    const double k = model_->eigenvalues()[a], s = 0.5 * damping_[a], square = k - s * s, decay = std::exp(-s * dt);
    double cosine, sine;
    if (square > 0) {
      const double w = std::sqrt(square);
      cosine = decay * std::cos(w * dt), sine = decay * std::sin(w * dt) / w;
    } else if (square < 0) {
      const double w = std::sqrt(-square), fast = std::exp(-(s + w) * dt), slow = std::exp(-(k / (s + w)) * dt);
      cosine = 0.5 * (slow + fast), sine = 0.5 * (slow - fast) / w;
    } else {
      cosine = decay, sine = decay * dt;
    }
    const double keep = cosine + s * sine, fall = -k * sine;
    oscillators_.row(a) << keep, sine, (1 - keep) / k, fall, cosine - s * sine, sine;
  }
}

ReducedStepInfo ReducedMotion::solve_recurrence() {
  set_oscillators();
  const double dt = step_.dt;
  // An impulse that acts during the whole step is a force J / dt.
  effective_.setZero();
  effective_.diagonal() = dt * oscillators_.col(5).cwiseInverse();
  position_factor_ = oscillators_.col(2).cwiseQuotient(oscillators_.col(5));
  ReducedStepInfo info;
  v1_ = start_v_;
  for (;; ++info.iterations) {
    trial_ = v1_;
    rate_force_ = load_now_ + turning_;
    q1_ = oscillators_.col(0).cwiseProduct(q_) + oscillators_.col(1).cwiseProduct(start_v_) +
          oscillators_.col(2).cwiseProduct(rate_force_);
    v1_ = oscillators_.col(3).cwiseProduct(q_) + oscillators_.col(4).cwiseProduct(start_v_) +
          oscillators_.col(5).cwiseProduct(rate_force_);
    info.residual = (v1_ - trial_).norm();
    info.converged = std::isfinite(info.residual) && (model_->held() || info.residual <= step_.tolerance * v1_.norm());
    if (info.converged || info.iterations >= step_.max_iterations) return info;
    set_turning_terms(frame_.angular_momentum);
  }
}

void ReducedMotion::prepare_impulses(double dt, double mass_damping, double stiffness_damping) {
  in_step_ = false;
  effective_.setIdentity();
  effective_.diagonal().array() += dt * mass_damping + (dt * stiffness_damping + dt * dt) * model_->eigenvalues().array();
  factor_mass();
}

void ReducedMotion::factor_mass() {
  const Index r = model_->size(), d = degrees();
  mass_.bottomRightCorner(r, r) = effective_;
  if (!model_->held()) {
    Matrix3d j;
    model_->inertia(q_, j, coupling_, products_);
    mass_.topLeftCorner(6, 6).setZero();
    mass_.topRightCorner(3, r).setZero();
    mass_.bottomLeftCorner(r, 3).setZero();
    mass_.topLeftCorner(3, 3).diagonal().setConstant(model_->mass());
    mass_.block(3, 3, 3, 3) = j;
    mass_.block(3, 6, 3, r) = coupling_;
    mass_.block(6, 3, r, 3) = coupling_.transpose();
  }
  mass_factor_.compute(mass_);
  if (mass_factor_.info() != Eigen::Success) {
    // The stiffness of a strongly compressed body is not definite; without it, the mass is.
    mass_.bottomRightCorner(r, r) = effective_.diagonal().cwiseMax(1).asDiagonal();
    mass_factor_.compute(mass_);
  }
  require(mass_factor_.info() == Eigen::Success && d == mass_.rows(), "the mass of a reduced body must be positive");
}

}  // namespace meniscus::solids
