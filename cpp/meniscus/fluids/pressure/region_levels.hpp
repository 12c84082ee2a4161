/// Levels of the pressure in regions of fluid without an outlet: what solids around them determine, and what nothing does.
///
/// A pressure that is constant in a closed region drives no flow in it. It pushes the solids beside it, unless it surrounds them,
/// and through them changes the volumes of closed regions: with G(r, s), the volume that a pressure of one in region s takes from
/// region r, combinations of levels in the kernel of G are free, and their volumes must agree by themselves; all others belong
/// to the system, and G is its coarse matrix among them.
#pragma once

#include "meniscus/core/types.hpp"

#include <Eigen/Core>

#include <span>

namespace meniscus::fluids {

/// The matrix G, and for each region what entries that vanish by cancellation are small beside (0 where there is nothing).
struct RegionGram {
  Eigen::MatrixXd volumes;
  Eigen::VectorXd scale;
};

class RegionLevels {
 public:
  /// Eigenvalues below this part of the scale belong to the kernel.
  static constexpr double least_determined = 1e-10;

  /// Levels that one of the matrices leaves free are free; the last one is that of the system.
  void find(std::span<const RegionGram> grams, std::span<const Index> cells);
  void clear();

  Index regions() const { return null_.rows(); }
  /// Free combinations as columns, whose values in all cells have the norm one and are orthogonal.
  const Eigen::MatrixXd& null() const { return null_; }
  /// The inverse of G among all others.
  const Eigen::MatrixXd& coarse() const { return coarse_; }
  /// What is free of values with these sums over the regions, per cell.
  Eigen::VectorXd free_part(const Eigen::VectorXd& sums) const { return null_ * (null_.transpose() * sums); }

 private:
  Eigen::MatrixXd null_, coarse_;
};

}  // namespace meniscus::fluids
