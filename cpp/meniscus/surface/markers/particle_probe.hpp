/// Value and gradient of a level set at one point, for stages that treat particles one by one.
#pragma once

#include "meniscus/grid/field.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {

template <int D>
struct ProbedLevelSet {
  double value = 0.0;                                ///< m
  Vec<double, D> gradient = Vec<double, D>::Zero();  ///< of the multilinear interpolant, 1
};

/// Multilinear interpolation of a field with filled ghosts. Points beyond the first ghost layer get the value at that layer.
template <class T, int D>
class LevelSetProbe {
 public:
  explicit LevelSetProbe(const grid::Field<T, D>& field) : grid_(&field.grid()), view_(field.view()) {
    for (std::size_t d = 0; d < D; ++d) {
      shift_[d] = 0.5 * (1 - field.stagger().on_side[d]);
      last_[d] = static_cast<double>(view_.extents[d]) - 1.0;
    }
  }

  const grid::Grid<D>& grid() const { return *grid_; }

  double value(const Vec<double, D>& x) const {
    std::array<double, corners> v;
    std::array<double, D> t;
    gather(x, v, t);
    for (int d = D - 1, half = corners / 2; d >= 0; --d, half /= 2)
      for (std::size_t q = 0; q < static_cast<std::size_t>(half); ++q)
        v[q] += t[static_cast<std::size_t>(d)] * (v[q + static_cast<std::size_t>(half)] - v[q]);
    return v[0];
  }

  ProbedLevelSet<D> operator()(const Vec<double, D>& x) const {
    std::array<double, corners> v;
    std::array<double, D> t;
    gather(x, v, t);
    ProbedLevelSet<D> s;
    for (std::size_t q = 0; q < corners; ++q) {
      std::array<double, D> w;
      double weight = 1.0;
      for (std::size_t d = 0; d < D; ++d) {
        w[d] = ((q >> d) & 1) ? t[d] : 1.0 - t[d];
        weight *= w[d];
      }
      s.value += weight * v[q];
      for (std::size_t d = 0; d < D; ++d) {
        double slope = ((q >> d) & 1) ? v[q] : -v[q];
        for (std::size_t e = 0; e < D; ++e)
          if (e != d) slope *= w[e];
        s.gradient[static_cast<Index>(d)] += slope / grid_->spacing();
      }
    }
    return s;
  }

 private:
  static constexpr int corners = 1 << D;

  /// Corner q has bit d set where it is the upper one along axis d; t: position of the point between the corners.
  void gather(const Vec<double, D>& x, std::array<double, corners>& v, std::array<double, D>& t) const {
    Coord<D> cell;
    for (std::size_t d = 0; d < D; ++d) {
      const auto axis = static_cast<Index>(d);
      const auto n = static_cast<double>(grid_->shape()[d]);
      double c = (x[axis] - grid_->origin()[axis]) / grid_->spacing();
      if (grid_->periodic()[d]) c -= n * std::floor(c / n);
      c -= shift_[d];
      // One ghost layer on each side is enough: it reaches half a cell beyond the domain at least.
      const double low = std::clamp(std::floor(c), -1.0, last_[d]);
      cell[d] = static_cast<Index>(low);
      t[d] = std::clamp(c - low, 0.0, 1.0);
    }
    const T* p = view_.at(cell);
    for (std::size_t q = 0; q < corners; ++q) {
      Index offset = 0;
      for (std::size_t d = 0; d < D; ++d) offset += ((q >> d) & 1) ? view_.strides[d] : 0;
      v[q] = static_cast<double>(p[offset]);
    }
  }

  const grid::Grid<D>* grid_;
  grid::FieldView<const T, D> view_;
  std::array<double, D> shift_{};
  std::array<double, D> last_{};
};

/// Brings a point onto the domain along axes that are not periodic, and into it along periodic ones.
template <int D>
Vec<double, D> onto_domain(const grid::Grid<D>& grid, Vec<double, D> x) {
  for (int d = 0; d < D; ++d) {
    const double extent = grid.spacing() * static_cast<double>(grid.shape()[static_cast<std::size_t>(d)]);
    const double from_origin = x[d] - grid.origin()[d];
    if (grid.periodic()[static_cast<std::size_t>(d)])
      x[d] -= extent * std::floor(from_origin / extent);
    else if (from_origin < 0.0 || from_origin > extent)
      x[d] = grid.origin()[d] + std::clamp(from_origin, 0.0, extent);
  }
  return x;
}

/// Distance outside of a solid, in cells, at which a particle is put: enough to be outside in single precision too.
inline constexpr double solid_gap = 1e-3;

/// Moves a point that is in a solid just outside of it, along the gradient of the solid's level set, and keeps it on the domain.
/// False if it is still inside after ten steps. A level set that is a distance needs one or two.
template <int D>
bool push_out_of_solid(const LevelSetProbe<double, D>& solid, Vec<double, D>& x, Vec<double, D>* normal = nullptr) {
  const double gap = solid_gap * solid.grid().spacing();
  for (int i = 0; i < 10; ++i) {
    const ProbedLevelSet<D> s = solid(x);
    const double slope = s.gradient.norm();
    if (normal && slope > 0.0) *normal = s.gradient / slope;
    if (s.value > 0.0) return true;
    if (slope == 0.0) return false;
    // The level set is flatter than a distance in the middle of a solid only, between several nearest points.
    x = onto_domain<D>(solid.grid(), x + (gap - s.value) / std::max(1.0, slope) / slope * s.gradient);
  }
  return solid.value(x) > 0.0;
}

}  // namespace meniscus::surface
