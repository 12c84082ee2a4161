/// A rigid solid as the pressure of a fluid sees it: six velocities, with the fluid at its sheet as added mass.
#pragma once

#include "meniscus/coupling/shell_pressure/shell_solid.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>

namespace meniscus::coupling {

class RigidShell final : public ShellSolid {
 public:
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  using Vector6 = Eigen::Matrix<double, 6, 1>;

  /// `arms`: of the nodes from the centre of mass, m. `free`: 0 for velocities that are held, such as those out of the plane of a
  /// 2-D grid: three of translation and three of rotation. Throws InvalidArgument for a mass or an inertia that is not positive.
  RigidShell(std::span<const mesh::Point> arms, double mass, const Eigen::Matrix3d& inertia, const Vector6& free);

  Index nodes() const override { return static_cast<Index>(arms_.size()); }
  void attach(std::span<const SheetSide> sides, Index first) override;
  using ShellSolid::respond;
  int respond(std::span<const mesh::Point> f, std::span<mesh::Point> v) override;

  /// The change of the velocity and the angular velocity that impulses on nodes cause, without the attached fluid.
  Vector6 free_response(std::span<const mesh::Point> f) const;

 private:
  Vector6 wrench(std::span<const mesh::Point> f) const;

  std::vector<mesh::Point> arms_;
  Matrix6 own_ = Matrix6::Zero();
  Vector6 free_;
  Eigen::LDLT<Matrix6> factor_, own_factor_;
};

}  // namespace meniscus::coupling
