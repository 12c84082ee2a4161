#include "meniscus/fluids/voronoi/fit_inverse.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

namespace meniscus::fluids {
namespace {

using Gradients = Eigen::Matrix<double, 9, 9>;

/// Directions whose weight is below this part of the greatest one are unknown: they would multiply errors by more than its
/// inverse.
constexpr double least_direction = 1e-6;
/// Derivatives whose weight is below this part of the sum of all weights are unknown: what tells of them is closer together than
/// its root, in lengths that distances are scaled by.
constexpr double least_derivative = 1e-4;

template <int N>
Eigen::Matrix<double, N, N> inverse_above(const Eigen::Matrix<double, N, N>& n, double least) {
  const Eigen::LDLT<Eigen::Matrix<double, N, N>> factors(n);
  if (factors.vectorD().minCoeff() > 10 * least) return factors.solve(Eigen::Matrix<double, N, N>::Identity());
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix<double, N, N>> parts(n);
  const auto inverse = [&](double v) { return v > least ? 1 / v : 0.0; };
  return parts.eigenvectors() * parts.eigenvalues().unaryExpr(inverse).asDiagonal() * parts.eigenvectors().transpose();
}

}  // namespace

FitMatrix fit_inverse(const FitMatrix& n) {
  const Eigen::Matrix3d values = n.topLeftCorner<3, 3>();
  const double weight = values.trace();
  const Eigen::Matrix3d a = inverse_above<3>(values, least_direction * weight);
  // Constants leave no gradient: derivatives are found from what they do not explain.
  const Eigen::Matrix<double, 9, 3> mixed = n.bottomLeftCorner<9, 3>() * a;
  const Gradients rest = n.bottomRightCorner<9, 9>() - mixed * n.topRightCorner<3, 9>();
  const Gradients b = inverse_above<9>(0.5 * (rest + rest.transpose()), least_derivative * weight);
  FitMatrix out;
  out.bottomRightCorner<9, 9>() = b;
  out.bottomLeftCorner<9, 3>() = -b * mixed;
  out.topRightCorner<3, 9>() = out.bottomLeftCorner<9, 3>().transpose();
  out.topLeftCorner<3, 3>() = a + mixed.transpose() * b * mixed;
  return out;
}

}  // namespace meniscus::fluids
