#include "meniscus/fluids/pressure/bodies/soft_body.hpp"

#include "meniscus/core/error.hpp"

#include <Eigen/LU>

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {

SoftBody::SoftBody(std::shared_ptr<SolidResponse> step, std::shared_ptr<const NodePlaces> places, std::span<const double> masses,
                   std::span<const double> start, std::span<const double> free)
    : step_(std::move(step)),
      places_(std::move(places)),
      masses_(masses.begin(), masses.end()),
      start_(start.begin(), start.end()),
      free_(free.begin(), free.end()) {
  const std::size_t n = masses_.size();
  require(step_ && places_ && step_->velocities() == static_cast<Index>(3 * n) && places_->count() == static_cast<Index>(n) &&
              start_.size() == 3 * n && free_.size() == 3 * n,
          "masses, velocities, places and step of a deformable body must be of the same nodes");
  const auto finite = [](double v) { return std::isfinite(v); };
  require(std::all_of(start_.begin(), start_.end(), finite) && std::all_of(free_.begin(), free_.end(), finite),
          "velocities of a deformable body must be finite");
  // What nothing moves has no part in the rigid motion.
  for (double& m : masses_) m = std::isfinite(m) ? m : 0.0;
  without_.resize(free_.size());
  after_.resize(free_.size());
  given_.resize(free_.size());
  pushed_.resize(free_.size());
  moved_.setZero(static_cast<Eigen::Index>(free_.size()), 6);
  begin();
}

void SoftBody::begin() { weight_.assign(free_.size(), 0.0); }

void SoftBody::push(const PlaceNodes& place, int axis, double impulse) {
  for (std::size_t k = 0; k < 4; ++k) weight_[3 * place.nodes[k] + axis] += place.weights[k] * impulse;
}

Vector6 SoftBody::mode(Index i) const {
  const int axis = static_cast<int>(i % 3);
  Vector6 row;
  row.head<3>() = Eigen::Vector3d::Unit(axis);
  const mesh::Point& x = places_->node(static_cast<std::int32_t>(i / 3));
  row.tail<3>() = (x - center_).cross(Eigen::Vector3d::Unit(axis));
  return row;
}

Vector6 SoftBody::motion_of(std::span<const double> v) const {
  Vector6 momentum = Vector6::Zero();
  for (std::size_t i = 0; i < masses_.size(); ++i) {
    const Eigen::Vector3d p = masses_[i] * Eigen::Map<const Eigen::Vector3d>(v.data() + 3 * i);
    momentum.head<3>() += p;
    momentum.tail<3>() += (places_->node(static_cast<std::int32_t>(i)) - center_).cross(p);
  }
  return inverse_ * momentum;
}

void SoftBody::spread(const Vector6& w, std::span<double> f) const {
  const Vector6 motion = inverse_ * w;
  for (std::size_t i = 0; i < masses_.size(); ++i) {
    const Eigen::Vector3d arm = places_->node(static_cast<std::int32_t>(i)) - center_;
    Eigen::Map<Eigen::Vector3d>(f.data() + 3 * i) += masses_[i] * (motion.head<3>() + motion.tail<3>().cross(arm));
  }
}

void SoftBody::factor(const Eigen::Vector3d& center, const Matrix6& inertia, const Matrix6& attached, const Vector6& carried) {
  center_ = center;
  inverse_ = inertia.inverse();
  inverse_ = (0.5 * (inverse_ + inverse_.transpose())).eval();
  attached_ = attached;
  carried_ = carried;
  Matrix6 yielding;
  for (int k = 0; k < 6; ++k) {
    std::fill(pushed_.begin(), pushed_.end(), 0.0);
    spread(Vector6::Unit(k), pushed_);
    step_->respond(pushed_, {moved_.col(k).data(), pushed_.size()});
    yielding.col(k) = motion_of({moved_.col(k).data(), pushed_.size()});
  }
  yielding = (0.5 * (yielding + yielding.transpose())).eval();
  taken_ = (Matrix6::Identity() + attached_ * yielding).inverse() * attached_;
  taken_ = (0.5 * (taken_ + taken_.transpose())).eval();
  mobility_ = (yielding - yielding * taken_ * yielding).diagonal();
  std::copy(weight_.begin(), weight_.end(), pushed_.begin());
  spread(attached_ * (carried_ - motion_of(free_)), pushed_);
  respond(pushed_, without_);
  for (std::size_t i = 0; i < free_.size(); ++i) without_[i] += free_[i];
}

void SoftBody::respond(std::span<const double> f, std::span<double> v) {
  if (std::all_of(f.begin(), f.end(), [](double value) { return value == 0; })) {
    std::fill(v.begin(), v.end(), 0.0);
    return;
  }
  step_->respond(f, v);
  const Eigen::Map<const Eigen::VectorXd> from(f.data(), static_cast<Eigen::Index>(f.size()));
  const Vector6 less = taken_ * (moved_.transpose() * from);
  Eigen::Map<Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size())) -= moved_ * less;
}

void SoftBody::finish(std::span<const double> pressure) {
  respond(pressure, after_);
  for (std::size_t i = 0; i < after_.size(); ++i) {
    after_[i] += without_[i];
    given_[i] = weight_[i] + pressure[i];
  }
  motion_after_ = motion_of(after_);
  spread(attached_ * (carried_ - motion_after_), given_);
  impulse_.setZero();
  work_ = 0;
  for (std::size_t i = 0; i < after_.size(); ++i) {
    impulse_ += given_[i] * mode(static_cast<Index>(i));
    work_ += 0.5 * given_[i] * (start_[i] + after_[i]);
  }
}

double SoftBody::velocity_at(const mesh::Point& place, int axis) const {
  const PlaceNodes nodes = places_->at(place);
  double sum = 0;
  for (std::size_t k = 0; k < 4; ++k) sum += nodes.weights[k] * after_[3 * nodes.nodes[k] + axis];
  return sum;
}

}  // namespace meniscus::fluids
