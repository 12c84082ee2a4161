/// Push-out of points from solids.
#pragma once

#include "meniscus/grid/field.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {

/// The level set at a point of the domain, and its gradient (1/m times the unit of the level set).
template <int D>
struct LevelSetSample {
  double phi = 0.0;
  Vec<double, D> gradient = Vec<double, D>::Zero();

  LevelSetSample(const grid::Field<double, D>& field, const Vec<double, D>& x) {
    const grid::Grid<D>& grid = field.grid();
    const grid::FieldView<const double, D> view = field.view();
    Coord<D> cell;
    std::array<double, D> t;
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const auto n = static_cast<double>(grid.shape()[axis]);
      double c = (x[d] - grid.origin()[d]) / grid.spacing();
      c = grid.periodic()[axis] ? c - n * std::floor(c / n) : std::clamp(c, 0.0, n);
      const double low = std::clamp(std::floor(c), 0.0, n - 1.0);
      cell[axis] = static_cast<Index>(low);
      t[axis] = std::clamp(c - low, 0.0, 1.0);
    }
    for (int q = 0; q < 1 << D; ++q) {
      Coord<D> corner = cell;
      for (std::size_t d = 0; d < D; ++d) corner[d] += (q >> d) & 1;
      const double v = *view.at(corner);
      double weight = 1.0;
      for (std::size_t d = 0; d < D; ++d) weight *= ((q >> d) & 1) ? t[d] : 1.0 - t[d];
      phi += weight * v;
      for (int d = 0; d < D; ++d) {
        double slope = ((q >> d) & 1) ? 1.0 / grid.spacing() : -1.0 / grid.spacing();
        for (std::size_t e = 0; e < D; ++e)
          if (static_cast<int>(e) != d) slope *= ((q >> e) & 1) ? t[e] : 1.0 - t[e];
        gradient[d] += slope * v;
      }
    }
  }
};

/// Largest number of steps to just outside of the solid: a level set that is a distance needs one or two.
constexpr int projection_steps = 10;
/// Distance outside of the solid, in cells: enough to be outside in single precision too.
constexpr double projection_gap = 1e-3;

template <class T, int D>
bool is_in_solid(const grid::Field<double, D>& solid, const T* x) {
  return LevelSetSample<D>(solid, Eigen::Map<const Vec<T, D>>(x).template cast<double>()).phi <= 0.0;
}

enum class PushOutResult {
  outside,  ///< was not in the solid
  moved,    ///< to just outside of it
  stuck,    ///< moved, and still inside
};

/// Moves a point of the domain out of the solid (a level set on nodes, a distance, <= 0 inside) along its gradient; on periodic
/// axes around the domain, elsewhere at most to its sides.
template <class T, int D>
PushOutResult push_out_of_solid(const grid::Field<double, D>& solid, T* x) {
  const grid::Grid<D>& grid = solid.grid();
  Eigen::Map<Vec<T, D>> position(x);
  LevelSetSample<D> s(solid, position.template cast<double>());
  if (s.phi > 0.0) return PushOutResult::outside;
  const double gap = projection_gap * grid.spacing();
  for (int i = 0; i < projection_steps; ++i) {
    const double slope = s.gradient.norm();
    if (slope == 0.0) break;
    // The level set should be a distance. It is flatter in the middle of a solid only, between several nearest points.
    const double way = (gap - s.phi) / std::max(1.0, slope);
    Vec<double, D> moved = position.template cast<double>() + way / slope * s.gradient;
    for (int d = 0; d < D; ++d) {
      const double extent = grid.spacing() * static_cast<double>(grid.shape()[static_cast<std::size_t>(d)]);
      const double from_origin = moved[d] - grid.origin()[d];
      if (grid.periodic()[static_cast<std::size_t>(d)])
        moved[d] -= extent * std::floor(from_origin / extent);
      else
        moved[d] = grid.origin()[d] + std::clamp(from_origin, 0.0, extent);
    }
    position = moved.template cast<T>();
    s = LevelSetSample<D>(solid, position.template cast<double>());
    if (s.phi > 0.0) return PushOutResult::moved;
  }
  return PushOutResult::stuck;
}

}  // namespace meniscus::fluids
