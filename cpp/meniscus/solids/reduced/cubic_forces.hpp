/// Forces of St. Venant-Kirchhoff tetrahedra (and of linear ones) as exact polynomials of the reduced coordinates.
///
/// The energy is a polynomial of fourth degree. Its second derivative is K = K2 + K3(q) + K4(q, q), homogeneous of degree 0, 1
/// and 2, so that the force is K2 q + K3 q / 2 + K4 q / 3 and the energy q . (K2 / 2 + K3 / 6 + K4 / 12) q: one pass over the
/// coefficients gives all three. Only entries of K with i <= j are stored, and only products q_k q_l with k <= l.
///
/// Source: Barbic and James, "Real-time subspace integration for St. Venant-Kirchhoff deformable models", 2005, section 3.2.
#pragma once

#include "meniscus/solids/reduced/reduced_forces.hpp"

namespace meniscus::solids {

class CubicForces final : public ReducedForces {
 public:
  /// Integrates the coefficients over the elements; `basis` has three rows per node. Without `quadratic_strain`, strains are
  /// Cauchy's and the forces linear.
  CubicForces(std::span<const TetGradient> elements, const Eigen::MatrixXd& basis, bool quadratic_strain);
  /// From stored coefficients.
  CubicForces(Index size, std::span<const double> coefficients);

  double at(const Eigen::VectorXd& q, Eigen::VectorXd& gradient, Eigen::MatrixXd* stiffness) override;
  std::size_t nbytes() const override;

  /// All coefficients, in groups of rows.
  std::span<const double> coefficients() const { return coefficients_; }

 private:
  /// Rows of one group lie side by side.
  static constexpr Index group = 32;
  Index pairs() const { return size() * (size() + 1) / 2; }
  Index columns() const { return 1 + size() + pairs(); }
  Index groups() const { return (pairs() + group - 1) / group; }
  double& coefficient(Index row, Index column) {
    return coefficients_[((row / group) * columns() + column) * group + row % group];
  }

  std::vector<double> coefficients_;
  /// 1, q_k and q_k q_l; then the parts of K of degree 0, 1 and 2.
  std::vector<double> monomials_, parts_;
};

}  // namespace meniscus::solids
