#include "meniscus/solids/reduced/vibration_modes.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/random.hpp"

#include <Eigen/SparseCholesky>
#include <algorithm>

namespace meniscus::solids {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Sparse = Eigen::SparseMatrix<double>;

/// Below so many unknowns, all modes come from a dense matrix.
constexpr Index dense_unknowns = 600;
constexpr Index block_size = 6;
/// Of eigenvalues, relative.
constexpr double converged = 1e-11;
constexpr Index most_vectors = 600;
/// Eigenvalues below this part of the stiffest are those of rigid motions.
constexpr double still = 1e-13;

/// Makes columns orthonormal in the inner product of mass; those that depend on the ones before them are dropped.
MatrixXd orthonormal(const MatrixXd& columns, const VectorXd& mass, const MatrixXd& before, double least = 1e-10) {
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

/// Rigid motions, orthonormal in the inner product of mass.
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

/// The stiffness of a body with its factors, and what fixes it.
class HeldStiffness {
 public:
  HeldStiffness(std::span<const TetGradient> elements, std::span<const mesh::Point> rest, std::span<const double> masses,
                std::span<const std::uint8_t> fixed)
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
    require(count == 0 || area > 1e-9 * arm.squaredNorm(),
            "fixed nodes must be none, or three or more that do not lie on a line");
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

  /// Degrees of freedom that are neither fixed nor rigid.
  Index unknowns() const { return unknowns_; }
  const VectorXd& mass() const { return mass_; }
  const Sparse& stiffness() const { return stiffness_; }
  const MatrixXd& rigid() const { return rigid_; }
  std::span<const Eigen::Index> free() const { return free_; }

  /// The displacements under forces, whose rigid part is left out, without a rigid motion.
  MatrixXd solve(const MatrixXd& forces) {
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

 private:
  Sparse stiffness_, lower_;
  VectorXd mass_;
  MatrixXd rigid_;
  std::vector<Eigen::Index> free_;
  Index unknowns_ = 0;
  bool factored_ = false;
  Eigen::SimplicialLDLT<Sparse> factor_;
};

/// Turns a basis in its space so that its stiffness is diagonal, and gives each vector a sign that does not depend on rounding
/// errors.
ReducedBasis with_frequencies(const HeldStiffness& k, const MatrixXd& basis) {
  const MatrixXd reduced = basis.transpose() * (k.stiffness() * basis);
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(0.5 * (reduced + reduced.transpose()));
  ReducedBasis out{basis * solver.eigenvectors(), solver.eigenvalues()};
  for (Eigen::Index j = 0; j < out.vectors.cols(); ++j) {
    Eigen::Index largest = 0;
    out.vectors.col(j).cwiseAbs().maxCoeff(&largest);
    if (out.vectors(largest, j) < 0) out.vectors.col(j) *= -1;
  }
  return out;
}

ReducedBasis dense_modes(const HeldStiffness& k, Index count) {
  // Vectors that no rigid motion is in: what is left of the coordinates, orthonormal.
  const auto n = k.mass().size();
  MatrixXd unit = MatrixXd::Zero(n, static_cast<Eigen::Index>(k.free().size()));
  for (std::size_t i = 0; i < k.free().size(); ++i)
    unit(k.free()[i], static_cast<Eigen::Index>(i)) = 1 / std::sqrt(k.mass()[k.free()[i]]);
  ReducedBasis all = with_frequencies(k, k.rigid().cols() == 0 ? unit : orthonormal(unit, k.mass(), k.rigid(), 1e-13));
  return {all.vectors.leftCols(count), all.eigenvalues.head(count)};
}

/// Block Lanczos method on the inverse of the stiffness, with full orthogonalisation.
ReducedBasis lanczos_modes(HeldStiffness& k, Index count) {
  const auto n = k.mass().size();
  const auto m = k.mass().asDiagonal();
  MatrixXd block(n, block_size);
  for (Eigen::Index j = 0; j < block.cols(); ++j)
    for (Eigen::Index i = 0; i < n; ++i)
      block(i, j) = CounterRandom(1, static_cast<std::uint64_t>(j * n + i), 0).uniform2(0)[0] - 0.5;
  block = k.solve(m * block);
  MatrixXd v(n, 0), w(n, 0);
  for (;;) {
    const MatrixXd next = orthonormal(block, k.mass(), v);
    require(next.cols() > 0, "the modes of the body could not be found");
    const Eigen::Index before = v.cols();
    v.conservativeResize(n, before + next.cols());
    w.conservativeResize(n, before + next.cols());
    v.rightCols(next.cols()) = next;
    block = k.solve(m * next);
    w.rightCols(next.cols()) = block;
    if (v.cols() < count + block_size) continue;
    const MatrixXd t = v.transpose() * (m * w);
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(0.5 * (t + t.transpose()));
    const MatrixXd s = solver.eigenvectors().rightCols(count);
    const VectorXd theta = solver.eigenvalues().tail(count);
    const MatrixXd residual = w * s - v * s * theta.asDiagonal();
    double worst = 0;
    for (Eigen::Index j = 0; j < residual.cols(); ++j)
      worst = std::max(worst, std::sqrt(residual.col(j).dot(k.mass().cwiseProduct(residual.col(j)))) / theta[j]);
    if (worst <= std::sqrt(converged) * 1e-2 || v.cols() >= most_vectors) {
      require(worst <= 1e-3, "the modes of the body could not be found");
      return with_frequencies(k, orthonormal(v * s.rowwise().reverse(), k.mass(), k.rigid()));
    }
  }
}

ReducedBasis modes_of(HeldStiffness& k, Index count) {
  require(count >= 1, "modes must be at least one");
  require(count <= k.unknowns(), "the body has only ", k.unknowns(), " modes, not ", count);
  ReducedBasis basis =
      k.unknowns() <= dense_unknowns || 3 * count > k.unknowns() ? dense_modes(k, count) : lanczos_modes(k, count);
  const double highest = (k.stiffness().diagonal().array() / k.mass().array()).maxCoeff();
  require(basis.eigenvalues[0] > still * highest,
          "the body must hang together: its stiffness has more rigid motions than those of one body");
  return basis;
}

}  // namespace

ReducedBasis vibration_modes(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                             std::span<const double> masses, std::span<const std::uint8_t> fixed, Index count) {
  HeldStiffness k(elements, rest, masses, fixed);
  return modes_of(k, count);
}

ReducedBasis basis_with_derivatives(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                                    std::span<const double> masses, std::span<const std::uint8_t> fixed, Index modes,
                                    Index size) {
  HeldStiffness k(elements, rest, masses, fixed);
  const ReducedBasis linear = modes_of(k, modes);
  const Index pairs = modes * (modes + 1) / 2;
  require(size >= modes && size <= modes + pairs, "size must lie between ", modes, " and ", modes + pairs, ", not ", size);
  MatrixXd forces(k.mass().size(), pairs);
  VectorXd weights(pairs);
  Eigen::Index column = 0;
  const double lowest = linear.eigenvalues[0];
  for (Eigen::Index i = 0; i < modes; ++i)
    for (Eigen::Index j = 0; j <= i; ++j) {
      weights[column] = lowest * lowest / (linear.eigenvalues[i] * linear.eigenvalues[j]);
      forces.col(column++) = -stiffness_change(elements, linear.vectors.col(i), linear.vectors.col(j));
    }
  // Forces at fixed nodes are the supports' own; `solve` leaves them out.
  MatrixXd derivatives = k.solve(forces) * weights.asDiagonal();
  // The modes themselves stay in the basis; the derivatives fill what is left by their principal components beside the modes.
  derivatives -= linear.vectors * (linear.vectors.transpose() * (k.mass().asDiagonal() * derivatives));
  MatrixXd basis = linear.vectors;
  if (size > modes) {
    const MatrixXd gram = derivatives.transpose() * (k.mass().asDiagonal() * derivatives);
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(0.5 * (gram + gram.transpose()));
    const MatrixXd principal = derivatives * solver.eigenvectors().rightCols(size - modes).rowwise().reverse();
    const MatrixXd added = orthonormal(principal, k.mass(), linear.vectors, 1e-6);
    require(added.cols() == size - modes, "modes and derivatives have only ", modes + added.cols(), " independent vectors, not ",
            size);
    basis.conservativeResize(Eigen::NoChange, size);
    basis.rightCols(size - modes) = added;
  }
  return with_frequencies(k, basis);
}

}  // namespace meniscus::solids
