/// The fluid that is controlled: a liquid with a free surface, or smoke in a gas.
#pragma once

#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/grid/field.hpp"

#include <algorithm>
#include <utility>

namespace meniscus::fluids {

template <class T, int D>
class ControlMedium {
 public:
  /// `levelset`: of the liquid, on cells, m; null: a gas with smoke of `density`, of which `full_density` fills a cell.
  /// `solid`: on nodes, in which there is none, with filled ghosts; or null.
  ControlMedium(grid::Field<T, D>* levelset, grid::Field<T, D>* density, double full_density, const grid::Field<double, D>* solid)
      : solid_(solid),
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

  /// Whether the middle of a cell of the block lies outside of the solid.
  bool is_outside(const Coord<D>& cell) const {
    if (!solid_) return true;
    const grid::FieldView<const double, D> nodes = solid_->view();
    return grid::corner_mean<D>(nodes.at(cell), nodes.strides) > 0.0;
  }
  const grid::Field<double, D>* solid() const { return solid_; }

 private:
  const grid::Field<double, D>* solid_;
  grid::Field<T, D>* levelset_;
  grid::Field<T, D>* fluid_;
  grid::FieldView<const T, D> view_;
  double scale_;
};

}  // namespace meniscus::fluids
