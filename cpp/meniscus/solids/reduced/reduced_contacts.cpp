#include "meniscus/solids/reduced/reduced_contacts.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

/// Columns: the normal and two tangents.
Matrix3d contact_axes(const Vector3d& normal) {
  Matrix3d f;
  Eigen::Index least = 0;
  normal.cwiseAbs().minCoeff(&least);
  f.col(0) = normal;
  f.col(1) = normal.cross(Vector3d::Unit(least)).normalized();
  f.col(2) = normal.cross(f.col(1));
  return f;
}

/// The impulse, in axes of the contact, that gives the least speed along the normal, and sticks or slides.
Vector3d projected(const Vector3d& now, const Vector3d& velocity, double least_speed, const Matrix3d& inverse_mass,
                   double friction) {
  Vector3d next = now;
  next[0] = std::max(0.0, now[0] - (velocity[0] - least_speed) / inverse_mass(0, 0));
  const Eigen::Vector2d slip = velocity.tail<2>() + inverse_mass.block<2, 1>(1, 0) * (next[0] - now[0]);
  next.tail<2>() -= Eigen::Matrix2d(inverse_mass.bottomRightCorner<2, 2>()).inverse() * slip;
  const double most = friction * next[0], size = next.tail<2>().norm();
  if (size > most) next.tail<2>() *= most / size;
  return next;
}

}  // namespace

int ReducedContacts::solve(ReducedMotion& body, const ReducedContactSet& contacts, int iterations,
                           std::span<mesh::Point> impulses) {
  const Index n = contacts.size(), d = body.degrees();
  const auto needed = static_cast<std::size_t>(3 * d * n);
  if (directions_.size() < needed) directions_.resize(needed), responses_.resize(needed);
  row_.resize(3, d), solved_.resize(d, 3), velocity_.resize(d);
  using Rows = Eigen::Map<Eigen::MatrixXd>;
  const Matrix3d rotation = body.rotation();
  body.generalised_velocity(velocity_);
  for (Index i = 0; i < n; ++i) {
    const Index k = i;
    const Matrix3d axes = contact_axes(contacts.normals[k]);
    body.directions(contacts.point(i), row_);
    Rows b(directions_.data() + 3 * d * i, 3, d), y(responses_.data() + 3 * d * i, d, 3);
    b.noalias() = (axes.transpose() * rotation).lazyProduct(row_);
    solved_ = b.transpose();
    body.solve_mass(solved_);
    y = solved_;
    impulses[k] = axes.transpose() * impulses[k];
    velocity_.noalias() += y * impulses[k];
  }
  int done = 0;
  while (done < iterations) {
    ++done;
    double change = 0, largest = 0;
    for (Index i = 0; i < n; ++i) {
      const Index k = i;
      const Rows b(directions_.data() + 3 * d * i, 3, d), y(responses_.data() + 3 * d * i, d, 3);
      const Matrix3d inverse = b.lazyProduct(y);
      const Vector3d relative =
          Vector3d(b * velocity_) - contact_axes(contacts.normals[k]).transpose() * contacts.obstacle_velocities[k];
      const Vector3d next = projected(impulses[k], relative, contacts.least_speeds[k], inverse, contacts.friction[k]);
      const Vector3d step = next - impulses[k];
      velocity_.noalias() += y * step;
      impulses[k] = next;
      change = std::max(change, step.cwiseAbs().maxCoeff());
      largest = std::max(largest, next.cwiseAbs().maxCoeff());
    }
    if (change <= 1e-12 * largest) break;
  }
  for (Index i = 0; i < n; ++i) {
    const Index k = i;
    impulses[k] = contact_axes(contacts.normals[k]) * impulses[k];
    body.apply_impulse(contacts.point(i), impulses[k]);
  }
  return done;
}

void ReducedContacts::inverse_masses(ReducedMotion& body, std::span<const std::int32_t> nodes, std::span<const double> weights,
                                     Index corners, std::span<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> out) {
  const Index d = body.degrees();
  row_.resize(3, d), solved_.resize(d, 3);
  const Matrix3d rotation = body.rotation();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto first = i * static_cast<std::size_t>(corners), count = static_cast<std::size_t>(corners);
    body.directions({nodes.subspan(first, count), weights.subspan(first, count)}, row_);
    solved_ = row_.transpose();
    body.solve_mass(solved_);
    out[i] = rotation * Matrix3d(row_ * solved_) * rotation.transpose();
  }
}

void ReducedContacts::rows(ReducedMotion& body, std::span<const std::int32_t> nodes, std::span<const double> weights,
                           Index corners, std::span<double> directions, std::span<double> responses, std::span<double> velocity) {
  const Index d = body.degrees();
  row_.resize(3, d), solved_.resize(d, 3), velocity_.resize(d);
  const Matrix3d rotation = body.rotation();
  body.generalised_velocity(velocity_);
  std::copy(velocity_.begin(), velocity_.end(), velocity.begin());
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Index count = corners;
  for (Index i = 0; i < static_cast<Index>(nodes.size()) / corners; ++i) {
    const auto first = static_cast<std::size_t>(i) * count;
    body.directions({nodes.subspan(first, count), weights.subspan(first, count)}, row_);
    Eigen::Map<RowMajor> j(directions.data() + 3 * d * i, 3, d), y(responses.data() + 3 * d * i, d, 3);
    j = rotation * row_;
    solved_ = j.transpose();
    body.solve_mass(solved_);
    y = solved_;
  }
}

}  // namespace meniscus::solids
