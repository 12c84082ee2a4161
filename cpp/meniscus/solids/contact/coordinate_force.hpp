/// Nodes that move with few coordinates, as a force between them: rigid and reduced bodies in the potential of a step.
///
/// About their places without contact, nodes move by d = R z. Coordinates are scaled so that impulses J change velocities by
/// R R^T J, with the stiffness that resists them in the time h of the step. With the inertia of the nodes' masses M in the
/// potential of implicit Euler, d^T M d / (2 h^2), the force adds
///
///   E(d) = (|z|^2 - d^T M d + s |d - R z|_M^2) / (2 h^2),    z = G^-1 R^T M d,    G = R^T M R,
///
/// so that of the inertia that of the coordinates is left, and s (much more than 1) keeps the nodes where coordinates can bring
/// them. E is a quadratic form: turns are to first order, as is the response.
///
/// Source: own.
#pragma once

#include "meniscus/solids/force.hpp"

#include <vector>

namespace meniscus::solids {

class CoordinateForce final : public Force {
 public:
  /// `nodes`: of the body, each once; `masses`: theirs, kg; `response`: R, of size 3 nodes x coordinates, kg^-1/2; `places`:
  /// where they are without contact, m; `over`: h, s; `stiffness`: s. Throws InvalidArgument where sizes differ or numbers are
  /// not positive.
  CoordinateForce(std::vector<std::int32_t> nodes, std::vector<double> masses, const Eigen::MatrixXd& response,
                  std::vector<mesh::Point> places, double over, double stiffness);

  Index nodes() const override { return last_ + 1; }
  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point>, Tangent) override {}
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  bool damped() const override { return false; }
  void add_damping(std::span<const mesh::Point>, double, std::span<mesh::Point>) const override {}
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point>, std::span<double>) const override {}
  DampingRatios damping_ratios(std::span<const mesh::Point>) const override { return no_damping_ratios; }
  double strain_rate(std::span<const mesh::Point>, std::span<const mesh::Point>) const override { return 0; }
  std::size_t nbytes() const override;

 private:
  /// B^T d of the displacements of the nodes from `places`, or of d itself where `places` is empty.
  Eigen::VectorXd moments(std::span<const mesh::Point> x, std::span<const mesh::Point> places) const;
  /// Adds -scale K d.
  void add(std::span<const mesh::Point> x, std::span<const mesh::Point> places, double scale, std::span<mesh::Point> f) const;

  std::vector<std::int32_t> nodes_;
  std::vector<double> masses_;
  std::vector<mesh::Point> places_;
  /// B = M R and C with K = free_ M + B C B^T.
  Eigen::MatrixXd moments_, between_;
  double free_ = 0;
  std::int32_t last_ = -1;
};

}  // namespace meniscus::solids
