/// Samples of a level set on a lattice that knows sheets: which of them see their neighbours.
///
/// The lattice has the centres of cells, each cut into `refine` parts along every axis; beyond each side of the domain a sample
/// on the side, and one more there that is outside of the water, so that a mesh follows the sides. Values are one-sided: where
/// some corner of a cell is hidden, the nearest visible one that has neighbours on its side counts, with their gradient, so that
/// water at rest is level up to a slanted sheet; a sample that sees no wet corner is dry (after Guendelman et al. 2005,
/// section 4.4.1, where hidden corners become means).
#pragma once

#include "meniscus/coupling/shell_water/level_samples.hpp"

#include <vector>

namespace meniscus::coupling {

template <class T, int D>
class SheetLattice {
 public:
  using Point = Vec<double, D>;

  /// Fills the ghosts of `phi`. Throws InvalidArgument for walls of another grid and a `refine` below 1.
  SheetLattice(grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls, Index refine, double time);

  const Coord<D>& extents() const { return extents_; }
  const Coord<D>& strides() const { return strides_; }
  /// Shortest distance of two samples, m, but for those at the sides.
  double step() const { return step_; }

  Point position(const Coord<D>& c) const;
  double value(Index i) const { return value_[i]; }
  bool wet(Index i) const { return value(i) <= 0; }
  /// Whether a wall is between sample i and the next one along an axis; told only where one of both is wet.
  bool cut(Index i, int axis) const { return (cut_[i] >> axis) & 1; }

  /// The level set, and its gradient, at a point as it is seen from there; NaN where no sample is seen.
  struct Level {
    double value;
    Point gradient;
  };
  Level level(const Point& x) const;
  /// The level set where a sheet ends the way from a wet sample i, `part` of the way along an axis.
  double level_at_sheet(Index i, int axis, int direction, double part, const Point& x) const;
  const grid::ThinWalls<D>& walls() const { return *walls_; }

 private:
  bool near_wall(const Point& x) const { return walls_->clearance(x) < 2; }
  /// A cell's gradient from neighbours that no sheet keeps apart from it; zero along axes where there is none, which are
  /// `unknown`.
  Point gradient_of_cell(const Coord<D>& c, int& unknown) const;
  double sampled(const Coord<D>& c) const;
  void find_values();
  void find_cuts();

  const grid::ThinWalls<D>* walls_;
  grid::SampleSource<T, D> source_;
  Index refine_;
  double step_;
  Coord<D> extents_, strides_;
  std::vector<double> value_;
  std::vector<std::uint8_t> cut_;
};

}  // namespace meniscus::coupling
