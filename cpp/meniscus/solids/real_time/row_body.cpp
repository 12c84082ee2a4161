#include "meniscus/solids/real_time/row_body.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

/// rad: turns of a body in one substep are at most that, whatever pushes it.
constexpr double most_turn = 1;
constexpr Index vertices_per_piece_of_body = 32;

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

void RigidRowBody::shift(const Vector3& moved, const Vector3& turned, RigidState& state) {
  state.position += moved;
  if (!(turned.squaredNorm() > 0)) return;
  const Eigen::Quaterniond q = turned_in_space(state.orientation(), turned);
  state.quaternion = {q.w(), q.x(), q.y(), q.z()};
}

void ReducedRowBody::begin() {
  centre_ = motion_->next_frame().position;
  turn_ = motion_->rotation();
  change_.resize(degrees());
  impulse_.resize(degrees());
}

void ReducedRowBody::prepare(std::span<const std::int32_t> vertices, std::span<const Vector3> places) {
  const ReducedModel& model = motion_->model();
  const Index n = degrees(), first = model.held() ? 0 : 6;
  const Eigen::MatrixXd& l = motion_->mass_factor().matrixLLT();
  blocks_.resize(nodes_.size() * static_cast<std::size_t>(3 * n));
  const Eigen::Matrix3d unit = Eigen::Matrix3d::Identity();
  const Eigen::VectorXd& q = motion_->next_coordinates();
  parallel_for(0, static_cast<Index>(vertices.size()), vertices_per_piece_of_body, [&](Index from, Index to) {
    for (Index i = from; i < to; ++i) {
      const Index v = vertices[i];
      RowBlock out(blocks_.data() + v * static_cast<std::size_t>(3 * n), n, 3);
      out.setZero();
      model.add_rows_along(nodes_[v], 1.0, q, unit, out.data() + first, n);
      if (!model.held()) {
        const Vector3 arm = turn_.transpose() * (places[i] - centre_);
        for (int k = 0; k < 3; ++k) {
          out.col(k).head<3>() = unit.col(k);
          out.col(k).segment<3>(3) = arm.cross(Vector3(unit.col(k)));
        }
      }
      // Three columns of some tens of rows: general solvers spend more on blocks than on that.
      double* const x = out.data();
      for (Index j = 0; j < n; ++j) {
        const double scale = 1 / l(j, j), a = x[j] *= scale, b = x[n + j] *= scale, c = x[2 * n + j] *= scale;
        const double* const column = l.data() + j * n;
        for (Index k = j + 1; k < n; ++k) {
          x[k] -= column[k] * a;
          x[n + k] -= column[k] * b;
          x[2 * n + k] -= column[k] * c;
        }
      }
    }
  });
}

void ReducedRowBody::write(const RowPoint& point, const Eigen::Matrix3d& axes, RowBlock out) const {
  const Eigen::Matrix3d directions = turn_.transpose() * axes;
  const Index n = out.rows();
  double* const to = out.data();
  out.setZero();
  for (std::size_t k = 0; k < point.vertices.size(); ++k) {
    const double* const x = blocks_.data() + static_cast<Index>(point.vertices[k]) * 3 * n;
    const Eigen::Matrix3d d = point.weights[k] * directions;
    for (Index i = 0; i < n; ++i) {
      const double a = x[i], b = x[n + i], c = x[2 * n + i];
      to[i] += a * d(0, 0) + b * d(1, 0) + c * d(2, 0);
      to[n + i] += a * d(0, 1) + b * d(1, 1) + c * d(2, 1);
      to[2 * n + i] += a * d(0, 2) + b * d(1, 2) + c * d(2, 2);
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
