#include "meniscus/fluids/pressure/region_levels.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <cmath>

namespace meniscus::fluids {

void RegionLevels::clear() {
  null_.resize(0, 0);
  coarse_.resize(0, 0);
}

void RegionLevels::find(std::span<const RegionGram> grams, std::span<const Index> cells) {
  const auto n = static_cast<Eigen::Index>(cells.size());
  null_.resize(n, 0);
  coarse_.setZero(n, n);
  // In units in which a combination of levels has the norm of its values in all cells.
  Eigen::VectorXd weight(n);
  for (Eigen::Index k = 0; k < n; ++k) weight[k] = 1 / std::sqrt(static_cast<double>(cells[k]));
  Eigen::MatrixXd left = Eigen::MatrixXd::Identity(n, n), among;
  for (const RegionGram& gram : grams) {
    if (left.cols() == 0) return;
    among = left.transpose() * weight.asDiagonal() * gram.volumes * weight.asDiagonal() * left;
    Eigen::VectorXd scale = gram.scale.cwiseProduct(weight.cwiseAbs2());
    for (double& s : scale)
      if (!(s > 0)) s = 1;
    const Eigen::MatrixXd beside = left.transpose() * scale.asDiagonal() * left;
    const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd> eigen(among, beside);
    Eigen::Index free = 0;
    while (free < left.cols() && !(eigen.eigenvalues()[free] > least_determined)) ++free;
    if (free == 0) continue;
    const Eigen::HouseholderQR<Eigen::MatrixXd> basis(eigen.eigenvectors().leftCols(free));
    const Eigen::MatrixXd turned = left * basis.householderQ() * Eigen::MatrixXd::Identity(left.cols(), left.cols());
    null_.conservativeResize(n, null_.cols() + free);
    null_.rightCols(free) = weight.asDiagonal() * turned.leftCols(free);
    left = turned.rightCols(left.cols() - free).eval();
    among = left.transpose() * weight.asDiagonal() * gram.volumes * weight.asDiagonal() * left;
  }
  if (left.cols() == 0) return;
  const Eigen::MatrixXd root = weight.asDiagonal() * left;
  coarse_ = root * among.ldlt().solve(root.transpose());
  coarse_ = (0.5 * (coarse_ + coarse_.transpose())).eval();
}

}  // namespace meniscus::fluids
