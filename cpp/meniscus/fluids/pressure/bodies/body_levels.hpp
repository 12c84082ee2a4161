/// Levels of the pressure in closed regions that moving bodies border on, as below a lid or on both sides of a piston.
///
/// A region pushes a body by its constant unless it surrounds it. Of bodies that only closed regions and pockets touch, the sum
/// of all these pushes is zero: what the rows are short of that, by pockets and by rounding, is shared among the regions before
/// levels are judged.
#pragma once

#include "meniscus/fluids/pressure/region_levels.hpp"
#include "meniscus/fluids/pressure/solid_impulses.hpp"
#include "meniscus/grid/poisson/poisson_solver.hpp"

namespace meniscus::fluids {

template <int D>
class BodyLevels {
 public:
  /// Labels of cells that are in no region, or in one whose pressure has a level.
  static constexpr std::int32_t open = -1;
  /// Of cells in closed regions of a few cells, whose pressure pushes nothing.
  static constexpr std::int32_t pocket = -2;

  /// Numbers the closed regions, and marks those with fewer than `least` cells as pockets.
  void label(const grid::PoissonSolver<D>& poisson, Index least);
  std::int32_t label_of(Index cell) const { return labels_.size() == 0 ? open : labels_[cell]; }

  /// Finds the levels of L + B S^-1 scale B^T. `outlets`: for each body, whether something open touches it. Bodies that deform
  /// give way to a constant as well.
  void prepare(const VolumeRows& rows, std::span<const std::uint8_t> outlets, BodyResponse& solids, double scale);

  /// Closed regions, without pockets.
  Index count() const { return static_cast<Index>(regions_.size()); }
  /// Whether bodies determine a level.
  bool determined() const { return levels_.null().cols() < count(); }
  /// Removes what is free of values: of right-hand sides what the matrix cannot produce, of solutions what it does not see.
  void project(Block<double>& v) const;
  /// z += what the determined levels answer to r.
  void correct(const Block<double>& r, Block<double>& z) const;
  /// Keeps of sums over the regions of the pressure what is free.
  void keep_free(std::vector<double>& sums) const;
  /// Takes from the pushes of values, with these sums over `count` regions, those of what `project` removes.
  void unpush(const Eigen::VectorXd& sums, Eigen::Ref<Eigen::VectorXd> pushes) const;
  Index bytes() const { return static_cast<Index>(4 * labels_.size() + 8 * push_.size()); }

 private:
  /// Of the last sums over all regions, those that are counted here.
  const Eigen::VectorXd& counted() const;

  const grid::PoissonSolver<D>* poisson_ = nullptr;
  /// Numbers of the regions among those of the pressure.
  std::vector<Index> regions_;
  bool pockets_ = false;
  Block<std::int32_t> labels_;
  /// (velocities, regions): scale B^T of their constants.
  Eigen::MatrixXd push_;
  RegionLevels levels_;
  mutable std::vector<double> sums_;
  mutable Eigen::VectorXd counted_;
};

}  // namespace meniscus::fluids
