#include "meniscus/fluids/voronoi/fit_inverse.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

namespace meniscus::fluids {
namespace {

/// Directions whose weight is below this part of the greatest one are unknown: they would multiply errors by more than its
/// inverse.
constexpr double least_weight = 1e-3;

}  // namespace

FitMatrix fit_inverse(const FitMatrix& n) {
  const Eigen::LDLT<FitMatrix> factors(n);
  const auto pivots = factors.vectorD();
  if (pivots.minCoeff() > 10 * least_weight * pivots.maxCoeff()) return factors.solve(FitMatrix::Identity());
  const Eigen::SelfAdjointEigenSolver<FitMatrix> parts(n);
  const double least = least_weight * std::max(parts.eigenvalues().maxCoeff(), 0.0);
  const auto inverse = [&](double v) { return v > least ? 1 / v : 0.0; };
  return parts.eigenvectors() * parts.eigenvalues().unaryExpr(inverse).asDiagonal() * parts.eigenvectors().transpose();
}

}  // namespace meniscus::fluids
