/// Linear tetrahedra at rest, as the set-up of reduced models needs them: gradients of the shape functions, volumes and
/// constants.
///
/// With displacements u_k at the corners, the gradient of displacement is G = sum u_k y_k^T. Green's strain is E = sym(G) + G^T G
/// / 2, and the energy of St. Venant and Kirchhoff V (mu E : E + lambda / 2 tr(E)^2) is a polynomial of fourth degree in u.
///
/// Source: Barbic and James, "Real-time subspace integration for St. Venant-Kirchhoff deformable models", 2005.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/solids/elements/elastic_material.hpp"

#include <Eigen/Dense>
#include <Eigen/SparseCore>
#include <span>
#include <vector>

namespace meniscus::solids {

struct TetGradient {
  std::array<Vec<double, 3>, 4> y;  ///< 1/m, of the shape functions; their sum is zero
  double volume;                    ///< m^3
  Lame lame;
  std::array<std::int32_t, 4> node;
};

/// `moduli` (Pa) and `ratios` have one entry or one per element. Throws InvalidArgument for flat and inverted elements, and for
/// constants out of range.
std::vector<TetGradient> tet_gradients(std::span<const mesh::Point> rest, std::span<const mesh::Tet> tets,
                                       std::span<const double> moduli, std::span<const double> ratios);

/// G of a displacement: three rows per node.
inline Eigen::Matrix3d displacement_gradient(const TetGradient& e, const double* u) {
  Eigen::Matrix3d g = Eigen::Matrix3d::Zero();
  for (std::size_t k = 0; k < 4; ++k)
    g += Eigen::Map<const Eigen::Vector3d>(u + 3 * static_cast<std::ptrdiff_t>(e.node[k])) * e.y[k].transpose();
  return g;
}

/// lambda tr(E) I + 2 mu E.
inline Eigen::Matrix3d hooke_stress(const Lame& c, const Eigen::Matrix3d& e) {
  return c.lambda * e.trace() * Eigen::Matrix3d::Identity() + 2 * c.mu * e;
}

/// The stiffness at rest, N/m; three rows per node.
Eigen::SparseMatrix<double> stiffness_at_rest(std::span<const TetGradient> elements, Index nodes);

/// The change of the forces K u of second order, as a bilinear form: the derivative of u^T K(s v) at s = 0, N for displacements
/// in metres.
Eigen::VectorXd stiffness_change(std::span<const TetGradient> elements, const Eigen::VectorXd& u, const Eigen::VectorXd& v);

}  // namespace meniscus::solids
