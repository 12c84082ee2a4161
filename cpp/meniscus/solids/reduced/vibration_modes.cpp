#include "meniscus/solids/reduced/vibration_modes.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/random.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Below so many unknowns, all modes come from a dense matrix.
constexpr Index dense_unknowns = 600;
constexpr Index block_size = 6;
/// Of eigenvalues, relative.
constexpr double converged = 1e-11;
constexpr Index most_vectors = 600;
/// Eigenvalues below this part of the stiffest are those of rigid motions.
constexpr double still = 1e-13;

ReducedBasis dense_modes(const HeldStiffness& k, Index count) {
  // Vectors that no rigid motion is in: what is left of the coordinates, orthonormal.
  const auto n = k.mass().size();
  MatrixXd unit = MatrixXd::Zero(n, static_cast<Eigen::Index>(k.free().size()));
  for (std::size_t i = 0; i < k.free().size(); ++i)
    unit(k.free()[i], static_cast<Eigen::Index>(i)) = 1 / std::sqrt(k.mass()[k.free()[i]]);
  ReducedBasis all = k.with_frequencies(k.rigid().cols() == 0 ? unit : orthonormal(unit, k.mass(), k.rigid(), 1e-13));
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
      return k.with_frequencies(orthonormal(v * s.rowwise().reverse(), k.mass(), k.rigid()));
    }
  }
}

}  // namespace

ReducedBasis vibration_modes(HeldStiffness& k, Index count) {
  require(count >= 1, "modes must be at least one");
  require(count <= k.unknowns(), "the body has only ", k.unknowns(), " modes, not ", count);
  ReducedBasis basis =
      k.unknowns() <= dense_unknowns || 3 * count > k.unknowns() ? dense_modes(k, count) : lanczos_modes(k, count);
  const double highest = (k.stiffness().diagonal().array() / k.mass().array()).maxCoeff();
  require(basis.eigenvalues[0] > still * highest,
          "the body must hang together: its stiffness has more rigid motions than those of one body");
  return basis;
}

ReducedBasis vibration_modes(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                             std::span<const double> masses, std::span<const std::uint8_t> fixed, Index count) {
  HeldStiffness k(elements, rest, masses, fixed);
  return vibration_modes(k, count);
}

ReducedBasis basis_with_derivatives(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                                    std::span<const double> masses, std::span<const std::uint8_t> fixed, Index modes,
                                    Index size) {
  HeldStiffness k(elements, rest, masses, fixed);
  const ReducedBasis linear = vibration_modes(k, modes);
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
  return k.with_frequencies(basis);
}

}  // namespace meniscus::solids
