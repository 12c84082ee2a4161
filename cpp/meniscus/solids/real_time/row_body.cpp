#include "meniscus/solids/real_time/row_body.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

/// rad: turns of a body in one substep are at most that, whatever pushes it.
constexpr double most_turn = 1;

Eigen::Quaterniond turned_in_space(const Eigen::Quaterniond& q, Vector3 turn) {
  double angle = turn.norm();
  if (angle > most_turn) {
    turn *= most_turn / angle;
    angle = most_turn;
  }
  Eigen::Quaterniond d;
  d.w() = std::cos(0.5 * angle);
  d.vec() = (angle < 1e-4 ? 0.5 - angle * angle / 48 : std::sin(0.5 * angle) / angle) * turn;
  return (d * q).normalized();
}

}  // namespace

void RigidRowBody::begin(const RigidState& predicted, const RigidInertia& inertia) {
  inverse_mass_ = inertia.inverse_mass;
  root_ = std::sqrt(inverse_mass_);
  centre_ = predicted.position;
  if (!(inverse_mass_ > 0)) return;
  const Eigen::Matrix3d r = predicted.orientation().toRotationMatrix();
  factor_ = (r * inertia.inverse_inertia * r.transpose()).llt().matrixL();
}

void RigidRowBody::write(const RowPoint& point, const Eigen::Matrix3d& axes, RowBlock out) const {
  double whole = 0;
  for (const double w : point.weights) whole += w;
  // Points of one element have weights that sum up to one or minus one; the place is that of the point.
  const Vector3 arm = point.place - centre_;
  for (int k = 0; k < 3; ++k) {
    out.col(k).head<3>() = (whole * root_) * axes.col(k);
    out.col(k).tail<3>() = whole * (factor_.transpose() * arm.cross(Vector3(axes.col(k))));
  }
}

void RigidRowBody::read(std::span<const double> z, Vector3& moved, Vector3& turned) const {
  moved = root_ * Vector3(z[0], z[1], z[2]);
  turned = factor_ * Vector3(z[3], z[4], z[5]);
}

void RigidRowBody::store(const Vector3& moved, const Vector3& turned, std::span<double> z) const {
  const Vector3 way = moved / root_, turning = factor_.triangularView<Eigen::Lower>().solve(turned);
  std::copy_n(way.data(), 3, z.data());
  std::copy_n(turning.data(), 3, z.data() + 3);
}

void RigidRowBody::take(std::span<const double> z, double h, RigidState& state) const {
  const Vector3 way(z[0], z[1], z[2]), turning(z[3], z[4], z[5]);
  state.position += root_ * way;
  state.momentum += way / (root_ * h);
  const Vector3 turn = factor_ * turning;
  if (turn.squaredNorm() > 0) {
    const Eigen::Quaterniond q = turned_in_space(state.orientation(), turn);
    state.quaternion = {q.w(), q.x(), q.y(), q.z()};
  }
  state.angular_momentum += factor_.transpose().triangularView<Eigen::Upper>().solve(turning) / h;
}

void ReducedRowBody::begin() {
  centre_ = motion_->next_frame().position;
  turn_ = motion_->rotation();
  change_.resize(degrees());
  impulse_.resize(degrees());
}

void ReducedRowBody::write(const RowPoint& point, const Eigen::Matrix3d& axes, RowBlock out) const {
  const ReducedModel& model = motion_->model();
  const Eigen::Matrix3d directions = turn_.transpose() * axes;
  const Index first = model.held() ? 0 : 6;
  out.setZero();
  double whole = 0;
  for (std::size_t k = 0; k < point.vertices.size(); ++k) {
    whole += point.weights[k];
    model.add_rows_along(nodes_[static_cast<std::size_t>(point.vertices[k])], point.weights[k], directions, out.data() + first,
                         out.rows());
  }
  if (!model.held()) {
    const Vector3 arm = turn_.transpose() * (point.place - centre_);
    for (int k = 0; k < 3; ++k) {
      out.col(k).head<3>() = whole * directions.col(k);
      out.col(k).segment<3>(3) = whole * arm.cross(Vector3(directions.col(k)));
    }
  }
  // Three columns of some tens of rows: general solvers spend more on blocks than on that.
  const Eigen::MatrixXd& l = motion_->mass_factor().matrixLLT();
  const Index n = out.rows();
  for (Index j = 0; j < n; ++j) {
    const double scale = 1 / l(j, j), a = out(j, 0) *= scale, b = out(j, 1) *= scale, c = out(j, 2) *= scale;
    const double* const column = l.data() + j * n;
    double* const to = out.data();
    for (Index i = j + 1; i < n; ++i) {
      to[i] -= column[i] * a;
      to[n + i] -= column[i] * b;
      to[2 * n + i] -= column[i] * c;
    }
  }
}

void ReducedRowBody::take(std::span<const double> z, double h) {
  const Eigen::Map<const Eigen::VectorXd> given(z.data(), static_cast<Eigen::Index>(z.size()));
  const auto& factor = motion_->mass_factor();
  change_ = given / h;
  impulse_.noalias() = factor.matrixL() * change_;
  factor.matrixU().solveInPlace(change_);
  motion_->finish_with(change_, impulse_);
}

}  // namespace meniscus::solids
