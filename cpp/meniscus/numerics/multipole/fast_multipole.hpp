/// Fast multipole method for sums of 1 / r, its gradient, and the law of Biot and Savart in three dimensions.
///
/// Expansions in solid harmonics on an adaptive octree; translations by rotations, eight boxes of the same direction at a time;
/// neighbours point by point with eight targets at a time. The tree belongs to the points and is kept for any strengths.
///
/// Source: Greengard and Rokhlin 1997; Cheng, Greengard and Rokhlin 1999 (adaptive lists); Brochu 2012, section 6.5.
#pragma once

#include "meniscus/numerics/multipole/near_field.hpp"
#include "meniscus/numerics/multipole/octree.hpp"
#include "meniscus/numerics/multipole/translations.hpp"

#include <mutex>

namespace meniscus::numerics {

struct MultipoleOptions {
  double accuracy = 1e-6;  ///< relative error in the mean square, of potentials and of gradients
  BiotSavartKernel vortex = BiotSavartKernel::singular;
  double core = 0.0;      ///< m, of vortices
  int order = 0;          ///< of expansions; 0: what the accuracy needs
  Index most_points = 0;  ///< of a leaf; 0: what is fastest
};

class FastMultipole {
 public:
  /// Rows of three coordinates, m. Without targets (nullptr) the sources are the targets.
  FastMultipole(const double* sources, Index n, const double* targets, Index m, const MultipoleOptions& options);

  Index sources() const { return tree_.sources().size(); }
  Index targets() const { return tree_.targets().size(); }
  int order() const { return order_; }
  int levels() const { return tree_.levels(); }
  Index boxes() const { return static_cast<Index>(tree_.boxes().size()); }
  Index bytes() const;

  /// Potentials (m, columns) and gradients (m, columns, 3) of charges (n, columns), three columns at a time.
  void laplace(const double* charges, int columns, double* potential, double* gradient) const;
  /// Potentials (m) and gradients (m, 3) of charges (n) and dipoles (n, 3): q / r + p . (x - y) / r^3.
  void laplace(const double* charges, const double* dipoles, double* potential, double* gradient) const;
  /// Velocities (m, 3) of vortices of strength (n, 3): w x (x - y) / (4 pi r^3), mollified as the options say.
  void biot_savart(const double* strengths, double* velocity) const;

 private:
  /// A column of numbers in an array of rows.
  struct Column {
    const double* first;
    Index stride;
  };
  int order_of(const PairKernel& kernel) const;
  /// Sums for columns of strengths into `values_`, in the order of the tree.
  void evaluate(const PairKernel& kernel, std::span<const Column> strengths) const;
  void store(int value, double factor, double* first, Index stride) const;

  int order_;
  double accuracy_;
  BiotSavartKernel vortex_;
  double core_;
  Octree tree_;
  mutable std::mutex busy_;
  mutable std::vector<double> strengths_, values_, multipoles_, locals_;
};

/// The same sums point by point, without a tree: the reference. Outputs and inputs as those of the class.
void direct_laplace(const double* sources, Index n, const double* targets, Index m, const double* charges, const double* dipoles,
                    double* potential, double* gradient);
void direct_biot_savart(const double* sources, Index n, const double* targets, Index m, const double* strengths,
                        BiotSavartKernel vortex, double core, double* velocity);

}  // namespace meniscus::numerics
