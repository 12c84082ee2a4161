#include "meniscus/surface/tracking/vertex_quadric.hpp"

#include <Eigen/Eigenvalues>

namespace meniscus::surface {

VertexQuadric split_quadric(const Eigen::Matrix3d& matrix) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(matrix);
  VertexQuadric out;
  for (int k = 0; k < 3; ++k) {
    out.values[k] = std::max(0.0, solver.eigenvalues()[2 - k]);
    out.vectors.col(k) = solver.eigenvectors().col(2 - k);
  }
  return out;
}

}  // namespace meniscus::surface
