#include "meniscus/solids/contact/coordinate_force.hpp"

#include "meniscus/core/error.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

namespace meniscus::solids {
namespace {

/// Coordinates whose nodes move by less than this part of the others, squared, are none.
constexpr double no_motion = 1e-12;

mesh::Point displacement(std::span<const mesh::Point> x, std::span<const mesh::Point> places, std::size_t node, std::size_t k) {
  return places.empty() ? x[node] : mesh::Point(x[node] - places[k]);
}

}  // namespace

CoordinateForce::CoordinateForce(std::vector<std::int32_t> nodes, std::vector<double> masses, const Eigen::MatrixXd& response,
                                 std::vector<mesh::Point> places, double over, double stiffness)
    : nodes_(std::move(nodes)), masses_(std::move(masses)), places_(std::move(places)) {
  const std::size_t n = nodes_.size();
  require(masses_.size() == n && places_.size() == n && response.rows() == static_cast<Index>(3 * n),
          "nodes, masses, places and response must be of as many nodes");
  require(over > 0 && stiffness > 1, "the time must be positive, and the stiffness more than 1");
  for (std::size_t k = 0; k < n; ++k) {
    require(nodes_[k] >= 0 && masses_[k] > 0, "nodes must not be negative, masses must be positive");
    last_ = std::max(last_, nodes_[k]);
  }
  moments_ = response;
  for (std::size_t k = 0; k < n; ++k) moments_.middleRows(static_cast<Index>(3 * k), 3) *= masses_[k];
  const Eigen::MatrixXd gram = response.transpose() * moments_;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram);
  const double least = no_motion * solver.eigenvalues().maxCoeff(), h2 = over * over;
  const Eigen::VectorXd inside =
      solver.eigenvalues().unaryExpr([&](double g) { return g > least ? (1 / (g * g) - stiffness / g) / h2 : 0.0; });
  between_ = solver.eigenvectors() * inside.asDiagonal() * solver.eigenvectors().transpose();
  free_ = (stiffness - 1) / h2;
}

Eigen::VectorXd CoordinateForce::moments(std::span<const mesh::Point> x, std::span<const mesh::Point> places) const {
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(moments_.cols());
  for (std::size_t k = 0; k < nodes_.size(); ++k)
    sum += moments_.middleRows(static_cast<Index>(3 * k), 3).transpose() *
           displacement(x, places, static_cast<std::size_t>(nodes_[k]), k);
  return sum;
}

void CoordinateForce::add(std::span<const mesh::Point> x, std::span<const mesh::Point> places, double scale,
                          std::span<mesh::Point> f) const {
  const Eigen::VectorXd inside = between_ * moments(x, places);
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const auto node = static_cast<std::size_t>(nodes_[k]);
    f[node] -= scale * (free_ * masses_[k] * displacement(x, places, node, k) +
                        moments_.middleRows(static_cast<Index>(3 * k), 3) * inside);
  }
}

double CoordinateForce::energy(std::span<const mesh::Point> x) const {
  const Eigen::VectorXd y = moments(x, places_);
  double own = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k)
    own += masses_[k] * displacement(x, places_, static_cast<std::size_t>(nodes_[k]), k).squaredNorm();
  return 0.5 * (free_ * own + y.dot(between_ * y));
}

void CoordinateForce::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const { add(x, places_, 1, f); }

void CoordinateForce::add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const {
  add(dx, {}, scale, f);
}

void CoordinateForce::add_diagonal(double stiffness_scale, double, std::span<Block3> blocks) const {
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const auto b = moments_.middleRows(static_cast<Index>(3 * k), 3);
    const Block3 own = b * between_ * b.transpose();
    blocks[static_cast<std::size_t>(nodes_[k])] -= stiffness_scale * (free_ * masses_[k] * Block3::Identity() + own);
  }
}

void CoordinateForce::add_stiffness_bounds(std::span<const mesh::Point>, std::span<double> stiffness) const {
  for (std::size_t k = 0; k < nodes_.size(); ++k) stiffness[static_cast<std::size_t>(nodes_[k])] += free_ * masses_[k];
}

std::size_t CoordinateForce::nbytes() const {
  return nodes_.capacity() * sizeof(std::int32_t) + masses_.capacity() * sizeof(double) +
         places_.capacity() * sizeof(mesh::Point) + static_cast<std::size_t>(moments_.size() + between_.size()) * sizeof(double);
}

}  // namespace meniscus::solids
