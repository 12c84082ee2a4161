#include "meniscus/collision/contact/zones/rigid_motion.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <Eigen/SVD>

#include <cmath>

namespace meniscus::collision {

mesh::Point RigidMotion::displacement(const mesh::Point& x) const {
  const mesh::Point r = x - centre;
  const mesh::Point across = r - r.dot(axis) * axis;
  const double half = std::sin(0.5 * angle);
  return translation - (2 * half * half) * across + std::sin(angle) * axis.cross(across);
}

RigidMotion rigid_motion(std::span<const std::int32_t> group, const ContactNodes& nodes, std::span<const mesh::Point> x,
                         std::span<const mesh::Point> u) {
  RigidMotion motion;
  double mass = 0;
  // From the first node, so that coordinates far from the origin cost no digits.
  const mesh::Point origin = x[group[0]];
  mesh::Point moment = mesh::Point::Zero(), momentum = mesh::Point::Zero();
  for (const std::int32_t n : group) {
    const Index i = n;
    const double m = 1 / nodes.inverse_mass(n);
    mass += m;
    moment += m * (x[i] - origin);
    momentum += m * u[i];
  }
  motion.centre = origin + moment / mass;
  motion.translation = momentum / mass;
  mesh::Point turning = mesh::Point::Zero();
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
  for (const std::int32_t n : group) {
    const Index i = n;
    const double m = 1 / nodes.inverse_mass(n);
    const mesh::Point r = x[i] - motion.centre;
    turning += m * r.cross(mesh::Point(u[i] - motion.translation));
    inertia += m * (r.squaredNorm() * Eigen::Matrix3d::Identity() - r * r.transpose());
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(inertia);
  const double largest = eigen.eigenvalues()[2];
  mesh::Point rate = mesh::Point::Zero();
  for (Index k = 0; k < 3; ++k) {
    const double value = eigen.eigenvalues()[k];
    if (value > inertia_cutoff * largest && value > 0)
      rate += eigen.eigenvectors().col(k) * (eigen.eigenvectors().col(k).dot(turning) / value);
  }
  const double angle = rate.norm();
  if (angle > 0 && std::isfinite(angle)) {
    motion.axis = rate / angle;
    motion.angle = std::min(angle, most_turn);
  }
  return motion;
}

std::optional<RigidMotion> common_motion(std::span<const std::int32_t> group, std::span<const mesh::Point> x,
                                         std::span<const mesh::Point> u, double tolerance) {
  RigidMotion motion;
  const Index first = group[0];
  motion.centre = x[first];
  motion.translation = u[first];
  const auto fits = [&] {
    return std::ranges::all_of(group, [&](std::int32_t n) {
      const Index i = n;
      return (motion.displacement(x[i]) - u[i]).cwiseAbs().maxCoeff() <= tolerance;
    });
  };
  if (fits()) return motion;
  // The best rotation of the differences to the first node (Kabsch).
  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();
  for (const std::int32_t n : group) {
    const Index i = n;
    const mesh::Point before = x[i] - x[first];
    const mesh::Point after = before + (u[i] - u[first]);
    covariance += before * after.transpose();
  }
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(covariance, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Matrix3d flip = Eigen::Matrix3d::Identity();
  flip(2, 2) = (svd.matrixV() * svd.matrixU().transpose()).determinant() < 0 ? -1 : 1;
  const Eigen::AngleAxisd turn(Eigen::Matrix3d(svd.matrixV() * flip * svd.matrixU().transpose()));
  motion.axis = turn.axis();
  motion.angle = turn.angle();
  if (std::abs(motion.angle) <= most_turn && fits()) return motion;
  return std::nullopt;
}

}  // namespace meniscus::collision
