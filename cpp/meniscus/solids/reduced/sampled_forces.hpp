/// Forces of a reduced model as a weighted sum over some of its elements (cubature), for any material; with all elements and
/// weights of one, the exact forces.
///
/// Source: An, Kim and James, "Optimizing cubature for efficient integration of subspace deformations", 2008.
#pragma once

#include "meniscus/solids/reduced/reduced_forces.hpp"

namespace meniscus::solids {

class SampledForces final : public ReducedForces {
 public:
  /// `weights` are multiples of the volumes of the elements.
  SampledForces(std::span<const TetGradient> elements, std::span<const double> weights, const Eigen::MatrixXd& basis,
                Material material);

  double at(const Eigen::VectorXd& q, Eigen::VectorXd& gradient, Eigen::MatrixXd* stiffness) override;
  std::size_t nbytes() const override;

  Index samples() const { return samples_; }

  /// Sets columns of `out` (r, elements) to the share of each element in the gradient, without its weight.
  void shares(const Eigen::VectorXd& q, Eigen::MatrixXd& out) const;

 private:
  /// Per eight elements: weighted volumes, volumes, lambda and mu; then nine numbers per coordinate, the gradients by columns.
  static constexpr Index constants = 4;
  Index stride() const { return 8 * (constants + 9 * size()); }
  template <Material material>
  double sum_of(const double* first, Index packs, const double* q, double* gradient, double* stiffness) const;

  Material material_;
  Index samples_;
  Index packs_;
  std::vector<double> packs_data_;
  /// Sums over pieces of the elements: energy, gradient, stiffness.
  std::vector<double> partial_;
};

/// Elements and weights of a cubature.
struct Cubature {
  std::vector<std::int32_t> elements;
  std::vector<double> weights;
  /// Of the forces at the training poses, relative.
  double error = 0;
};

/// Chooses elements and weights that are not negative, so that the forces at the training poses (r, t) are right to `tolerance`,
/// relative; at most `most` elements. In each round the element of a random subset that reduces the residual most is added, and
/// all weights are fitted by non-negative least squares.
Cubature choose_cubature(const SampledForces& exact, const Eigen::MatrixXd& poses, double tolerance, Index most,
                         std::uint64_t seed);

}  // namespace meniscus::solids
