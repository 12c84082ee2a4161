#include "meniscus/solids/reduced/held_stiffness.hpp"

#include "meniscus/core/error.hpp"

#include <Eigen/Eigenvalues>

namespace meniscus::solids {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Sparse = Eigen::SparseMatrix<double>;

namespace {

/// Three nodes and the coordinates of theirs that hold a body, just enough for no rigid motion to remain.
std::vector<Eigen::Index> support(std::span<const mesh::Point> rest) {
  const auto farthest = [&](auto&& distance) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < rest.size(); ++i)
      if (distance(rest[i]) > distance(rest[best])) best = i;
    return best;
  };
  const std::size_t a = 0;
  const std::size_t b = farthest([&](const Eigen::Vector3d& x) { return (x - rest[a]).squaredNorm(); });
  const Eigen::Vector3d ab = rest[b] - rest[a];
  const std::size_t c = farthest([&](const Eigen::Vector3d& x) { return ab.cross(x - rest[a]).squaredNorm(); });
  const Eigen::Vector3d normal = ab.cross(Eigen::Vector3d(rest[c] - rest[a]));
  Eigen::Index along = 0, across = 0;
  ab.cwiseAbs().maxCoeff(&along);
  normal.cwiseAbs().maxCoeff(&across);
  std::vector<Eigen::Index> held;
  for (Eigen::Index k = 0; k < 3; ++k) {
    held.push_back(3 * static_cast<Eigen::Index>(a) + k);
    if (k != along) held.push_back(3 * static_cast<Eigen::Index>(b) + k);
    if (k == across) held.push_back(3 * static_cast<Eigen::Index>(c) + k);
  }
  return held;
}

}  // namespace

MatrixXd orthonormal(const MatrixXd& columns, const VectorXd& mass, const MatrixXd& before, double least) {
  MatrixXd out(columns.rows(), columns.cols());
  Eigen::Index kept = 0;
  for (Eigen::Index j = 0; j < columns.cols(); ++j) {
    VectorXd x = columns.col(j);
    const double size = std::sqrt(x.dot(mass.cwiseProduct(x)));
    for (int pass = 0; pass < 2; ++pass) {
      if (before.cols() > 0) x -= before * (before.transpose() * mass.cwiseProduct(x));
      x -= out.leftCols(kept) * (out.leftCols(kept).transpose() * mass.cwiseProduct(x));
    }
    const double norm = std::sqrt(x.dot(mass.cwiseProduct(x)));
    if (norm <= least * size || norm == 0) continue;
    out.col(kept++) = x / norm;
  }
  return out.leftCols(kept);
}

MatrixXd rigid_motions(std::span<const mesh::Point> rest, const VectorXd& mass) {
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();
  for (std::size_t i = 0; i < rest.size(); ++i) centre += mass[3 * static_cast<Eigen::Index>(i)] * rest[i];
  centre /= mass.sum() / 3;
  MatrixXd r(mass.size(), 6);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const auto row = 3 * static_cast<Eigen::Index>(i);
    const Eigen::Vector3d x = rest[i] - centre;
    r.block<3, 3>(row, 0).setIdentity();
    for (int k = 0; k < 3; ++k) r.block<3, 1>(row, 3 + k) = Eigen::Vector3d::Unit(k).cross(x);
  }
  return orthonormal(r, mass, MatrixXd(mass.size(), 0));
}

HeldStiffness::HeldStiffness(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                             std::span<const double> masses, std::span<const std::uint8_t> fixed)
    : stiffness_(stiffness_at_rest(elements, static_cast<Index>(rest.size()))),
      mass_(3 * static_cast<Eigen::Index>(rest.size())) {
  require(masses.size() == rest.size() && fixed.size() == rest.size(), "masses and fixed must have an entry per node");
  Eigen::Vector3d first = Eigen::Vector3d::Zero(), arm = first;
  Index count = 0;
  double area = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    require(masses[i] > 0, "node ", i, " must have mass: it belongs to no element");
    mass_.segment<3>(3 * static_cast<Eigen::Index>(i)).setConstant(masses[i]);
    if (!fixed[i]) continue;
    if (count++ == 0) first = rest[i];
    const Eigen::Vector3d x = rest[i] - first;
    area = std::max(area, arm.cross(x).norm());
    if (x.norm() > arm.norm()) arm = x;
  }
  require(count == 0 || area > 1e-9 * arm.squaredNorm(), "fixed nodes must be none, or three or more that do not lie on a line");
  std::vector<char> held(mass_.size(), 0);
  if (count == 0) {
    rigid_ = rigid_motions(rest, mass_);
    for (const Eigen::Index i : support(rest)) held[i] = 1;
  } else {
    rigid_.resize(mass_.size(), 0);
    for (std::size_t i = 0; i < 3 * rest.size(); ++i) held[i] = static_cast<char>(fixed[i / 3]);
  }
  std::vector<int> place(held.size(), -1);
  for (std::size_t i = 0; i < held.size(); ++i)
    if (!held[i]) {
      place[i] = static_cast<int>(free_.size());
      free_.push_back(static_cast<Eigen::Index>(i));
    }
  unknowns_ = static_cast<Index>(free_.size());
  std::vector<Eigen::Triplet<double>> entries;
  for (Eigen::Index j = 0; j < stiffness_.outerSize(); ++j)
    for (Sparse::InnerIterator it(stiffness_, j); it; ++it) {
      const int row = place[it.row()], column = place[j];
      if (row >= column && column >= 0) entries.emplace_back(row, column, it.value());
    }
  lower_.resize(unknowns_, unknowns_);
  lower_.setFromTriplets(entries.begin(), entries.end());
}

MatrixXd HeldStiffness::solve(const MatrixXd& forces) {
  if (!factored_) {
    factor_.compute(lower_);
    require(factor_.info() == Eigen::Success && factor_.vectorD().minCoeff() > 0,
            "the body must hang together: its stiffness has more rigid motions than those of one body");
    factored_ = true;
  }
  const MatrixXd balanced = forces - mass_.asDiagonal() * (rigid_ * (rigid_.transpose() * forces));
  MatrixXd part(unknowns_, forces.cols());
  for (std::size_t i = 0; i < free_.size(); ++i) part.row(static_cast<Eigen::Index>(i)) = balanced.row(free_[i]);
  const MatrixXd solved = factor_.solve(part);
  MatrixXd x = MatrixXd::Zero(forces.rows(), forces.cols());
  for (std::size_t i = 0; i < free_.size(); ++i) x.row(free_[i]) = solved.row(static_cast<Eigen::Index>(i));
  return x - rigid_ * (rigid_.transpose() * (mass_.asDiagonal() * x));
}

ReducedBasis HeldStiffness::with_frequencies(const MatrixXd& basis) const {
  const MatrixXd reduced = basis.transpose() * (stiffness_ * basis);
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(0.5 * (reduced + reduced.transpose()));
  ReducedBasis out{basis * solver.eigenvectors(), solver.eigenvalues()};
  for (Eigen::Index j = 0; j < out.vectors.cols(); ++j) {
    Eigen::Index largest = 0;
    out.vectors.col(j).cwiseAbs().maxCoeff(&largest);
    if (out.vectors(largest, j) < 0) out.vectors.col(j) *= -1;
  }
  return out;
}

}  // namespace meniscus::solids
