#include "meniscus/coupling/shell_pressure/rigid_shell.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::coupling {

namespace {

/// A matrix with what is held removed, and ones in its place.
RigidShell::Matrix6 among_free(const RigidShell::Matrix6& a, const RigidShell::Vector6& free) {
  RigidShell::Matrix6 out = free.asDiagonal() * a * free.asDiagonal();
  for (int k = 0; k < 6; ++k)
    if (free[k] == 0) out(k, k) = 1;
  return out;
}

}  // namespace

RigidShell::RigidShell(std::span<const mesh::Point> arms, double mass, const Eigen::Matrix3d& inertia, const Vector6& free)
    : arms_(arms.begin(), arms.end()), free_(free) {
  require(mass > 0 && std::isfinite(mass), "the mass of a rigid shell must be above zero and finite, not ", mass);
  own_.topLeftCorner<3, 3>() = mass * Eigen::Matrix3d::Identity();
  own_.bottomRightCorner<3, 3>() = inertia;
  for (int k = 0; k < 6; ++k) free_[k] = free[k] != 0 ? 1.0 : 0.0;
  const Eigen::LLT<Matrix6> definite(among_free(own_, free_));
  require(own_.allFinite() && definite.info() == Eigen::Success, "the inertia of a rigid shell must be positive definite");
  own_factor_.compute(among_free(own_, free_));
  factor_ = own_factor_;
}

void RigidShell::attach(std::span<const SheetSide> sides, Index first) {
  Matrix6 s = own_;
  for (const SheetSide& side : sides) {
    const Index node = side.nodes[0] - first;
    if (node < 0 || node >= nodes() || side.mass == 0) continue;
    Vector6 row = Vector6::Zero();
    for (std::size_t k = 0; k < 3; ++k) {
      const mesh::Point& arm = arms_[side.nodes[k] - first];
      const mesh::Point along = side.weights[k] * mesh::Point::Unit(side.axis);
      row.head<3>() += along;
      row.tail<3>() += arm.cross(along);
    }
    s += side.mass * row * row.transpose();
  }
  factor_.compute(among_free(s, free_));
}

RigidShell::Vector6 RigidShell::wrench(std::span<const mesh::Point> f) const {
  Vector6 sum = Vector6::Zero();
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    sum.head<3>() += f[i];
    sum.tail<3>() += arms_[i].cross(f[i]);
  }
  return free_.cwiseProduct(sum);
}

int RigidShell::respond(std::span<const mesh::Point> f, std::span<mesh::Point> v) {
  const Vector6 twist = factor_.solve(wrench(f));
  const mesh::Point linear = twist.head<3>(), angular = twist.tail<3>();
  for (std::size_t i = 0; i < arms_.size(); ++i) v[i] = linear + angular.cross(arms_[i]);
  return 0;
}

RigidShell::Vector6 RigidShell::free_response(std::span<const mesh::Point> f) const { return own_factor_.solve(wrench(f)); }

}  // namespace meniscus::coupling
