/// Sides of a domain as boundaries of points: periodic images, sides that stop a particle and sides through which it leaves.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/grid/boundary.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::grid {

/// Per side (see side_index): whether particles leave through it; the others stop them. Periodic axes have no sides.
template <int D>
using OpenSides = std::array<bool, 2 * D>;

template <int D>
class DomainSides {
 public:
  explicit DomainSides(const Grid<D>& grid, const OpenSides<D>& open = {}) : grid_(&grid) {
    for (std::size_t d = 0; d < D; ++d)
      for (std::size_t upper = 0; upper < 2; ++upper)
        kind_[2 * d + upper] = grid.periodic()[d] ? Kind::image : open[2 * d + upper] ? Kind::open : Kind::closed;
  }

  bool stops(int axis, int upper) const { return kind(axis, upper) == Kind::closed; }
  bool leads_out(int axis, int upper) const { return kind(axis, upper) == Kind::open; }

  /// Coordinate of a side, m.
  MENISCUS_INLINE double at(int axis, int upper) const {
    const double extent = grid_->spacing() * static_cast<double>(grid_->shape()[axis]);
    return grid_->origin()[axis] + (upper ? extent : 0.0);
  }

  /// Moves a coordinate along a periodic axis to its image in the domain; others stay.
  MENISCUS_INLINE double image(int axis, double x) const {
    if (kind(axis, 0) != Kind::image) return x;
    const auto n = static_cast<double>(grid_->shape()[axis]);
    const double c = (x - grid_->origin()[axis]) / grid_->spacing();
    const double inside = c - n * std::floor(c / n);
    return inside == c ? x : grid_->origin()[axis] + grid_->spacing() * inside;
  }

  /// Moves a coordinate onto the domain: to its image along a periodic axis, else at most to a side.
  MENISCUS_INLINE double nearest(int axis, double x) const {
    if (kind(axis, 0) == Kind::image) return image(axis, x);
    return std::clamp(x, at(axis, 0), at(axis, 1));
  }

  Vec<double, D> nearest(Vec<double, D> x) const {
    for (int d = 0; d < D; ++d) x[d] = nearest(d, x[d]);
    return x;
  }

 private:
  enum class Kind : std::uint8_t { image, open, closed };
  MENISCUS_INLINE Kind kind(int axis, int upper) const { return kind_[side_index(axis, upper)]; }

  const Grid<D>* grid_;
  std::array<Kind, 2 * D> kind_;
};

}  // namespace meniscus::grid
