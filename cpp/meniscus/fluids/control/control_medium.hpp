/// The fluid that is controlled: a liquid with a free surface, or smoke in a gas.
#pragma once

#include "meniscus/grid/field.hpp"

#include <algorithm>
#include <utility>

namespace meniscus::fluids {

template <class T, int D>
class ControlMedium {
 public:
  /// `levelset`: of the liquid, on cells, m; null: a gas with smoke of `density`, of which `full_density` fills a cell.
  /// `outside`: zero for cells that hold none, in a solid; of the block, or null.
  ControlMedium(grid::Field<T, D>* levelset, grid::Field<T, D>* density, double full_density, const std::uint8_t* outside)
      : outside_(outside),
        levelset_(levelset),
        fluid_(levelset ? levelset : density),
        view_(std::as_const(*fluid_).view()),
        scale_(1.0 / (levelset ? levelset->grid().spacing() : full_density)) {}

  /// The part of a cell of the block or among its ghosts that the fluid fills, 0 to 1; ghosts are filled. In a solid too.
  double filled(const Coord<D>& cell) const {
    const double value = scale_ * static_cast<double>(*view_.at(cell));
    return std::clamp(levelset_ ? 0.5 - value : value, 0.0, 1.0);
  }
  /// Null for a gas.
  grid::Field<T, D>* levelset() const { return levelset_; }
  grid::Field<T, D>& fluid() const { return *fluid_; }

  /// Whether a cell of the block, by its index in C order, lies outside of solids.
  bool is_outside(Index cell) const { return !outside_ || outside_[cell]; }
  const std::uint8_t* outside() const { return outside_; }

 private:
  const std::uint8_t* outside_;
  grid::Field<T, D>* levelset_;
  grid::Field<T, D>* fluid_;
  grid::FieldView<const T, D> view_;
  double scale_;
};

}  // namespace meniscus::fluids
