/// The passes of a fast multipole method over the boxes of an octree: up, down, and to the points.
#pragma once

#include "meniscus/numerics/multipole/near_field.hpp"
#include "meniscus/numerics/multipole/octree.hpp"
#include "meniscus/numerics/multipole/translations.hpp"

namespace meniscus::numerics {

/// Boxes with fewer points than this are cheaper point by point than by an expansion of the order.
Index few_points(int order);

class MultipolePasses {
 public:
  /// Columns are in the order of the tree; `values` are added to. `few` is that with which the tree found near boxes. The
  /// expansions hold `densities() * terms(order)` numbers per box.
  MultipolePasses(const Octree& tree, int order, Index few, const PairKernel& kernel, std::span<const double* const> strengths,
                  std::span<double* const> values, double* multipoles, double* locals);

  static int densities(const PairKernel& kernel) {
    return kernel.sum == PairSum::charges || kernel.sum == PairSum::dipoles ? 1 : 3;
  }

  void run();

 private:
  using Channels = std::array<std::vector<double>, 4>;

  double* multipole(Index box, int density) const { return multipoles_ + (box * densities_ + density) * terms_; }
  double* local(Index box, int density) const { return locals_ + (box * densities_ + density) * terms_; }
  PointRange sources_of(const Octree::Box& box) const;
  PointRange targets_of(const Octree::Box& box) const;

  void expand_leaves();
  void add_children(int level);
  void take_from_parents(int level);
  void take_from_far(int level);
  void take_from_larger_leaves(Index box);
  void evaluate_leaves();

  /// Adds the expansion of the sources of a leaf about a centre.
  void add_expansion(Harmonics kind, const Octree::Box& leaf, const Vec<double, 3>& centre, double side, double* first) const;
  /// Adds the values of an expansion at the targets of a box.
  void add_at_targets(Harmonics kind, const double* first, const Vec<double, 3>& centre, double side,
                      const Octree::Box& box) const;
  void near_sources(Index box, std::vector<SourceRange>& ranges, std::vector<std::int32_t>& expansions) const;

  const Octree& tree_;
  int order_, terms_, densities_;
  PairKernel kernel_;
  std::span<const double* const> strengths_;
  std::span<double* const> values_;
  double* multipoles_;
  double* locals_;
  const Translations& translations_;
  const DerivativeTables& derivatives_;
  Index few_;
};

}  // namespace meniscus::numerics
