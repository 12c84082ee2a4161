/// Values of the level sets of particles at the centres of cells.
#pragma once

#include "meniscus/fluids/particles/surface/anisotropic_kernels.hpp"
#include "meniscus/fluids/particles/surface/density_surface.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::fluids {

/// One evaluation of a level set; lengths in cells.
template <int D>
struct SurfaceEvaluation {
  const grid::Grid<D>& grid;
  grid::CellParticles<D> particles;
  double radius, support, band;
  double per_cell;          ///< particles of a full cell
  const double* distances;  ///< carried by the particles, in cells; or nullptr
  const BlockCells<D>& cells;
  const ParticleSides<D>* sides;  ///< of thin walls, or nullptr
  const OpenSpace<D>& space;      ///< for densities

  /// Whether a cell has particles; by its number in the window.
  bool holds(Index w) const { return sides ? sides->holds(w) : particles.starts[w] != particles.starts[w + 1]; }
  /// Whether no thin wall is between a cell and the one `offset` cells further along an axis.
  bool open(Coord<D> c, int axis, Index offset) const {
    const Index step = offset > 0 ? 1 : -1;
    for (; sides && offset != 0; offset -= step, c[axis] += step)
      if (!sides->open(c, axis, step)) return false;
    return true;
  }

  Vec<double, D> center(const Coord<D>& cell) const {
    Vec<double, D> y;
    for (int d = 0; d < D; ++d) y[d] = static_cast<double>(cell[d]) + 0.5;
    return y;
  }

  double squared(const Vec<double, D>& y, const std::array<double, D>& x) const {
    double s = 0.0;
    for (int d = 0; d < D; ++d) {
      const double r = x[d] - y[d];
      s += r * r;
    }
    return s;
  }

  double spheres(const Coord<D>& cell, Index reach) const {
    const Vec<double, D> y = center(cell);
    double nearest = std::numeric_limits<double>::infinity();
    for (Index ring = 0; ring <= reach; ++ring) {
      grid::for_each_neighbor<D>(particles, cell, ring, ring, [&](Index, const std::array<double, D>& x, const auto&) {
        nearest = std::min(nearest, squared(y, x));
      });
      // Particles farther out are at least this far away.
      const double covered = static_cast<double>(ring) + 0.5;
      if (nearest <= covered * covered) break;
    }
    return std::sqrt(nearest) - radius;
  }

  double average(const Coord<D>& cell, Index reach, const CellSight<D>& sight) const {
    const Vec<double, D> y = center(cell);
    const double inverse = 1.0 / (support * support);
    double weights = 0.0;
    std::array<double, D> mean{};
    grid::for_each_neighbor<D>(particles, cell, 0, reach, [&](Index i, const std::array<double, D>& x, const auto& scale) {
      const double s = squared(y, x) * inverse;
      if (s >= 1.0 || !sight.sees(i, x, scale)) return;
      const double w = (1.0 - s) * (1.0 - s) * (1.0 - s);
      weights += w;
      for (std::size_t d = 0; d < D; ++d) mean[d] += w * x[d];
    });
    if (!(weights > 0.0)) return band;
    for (double& m : mean) m /= weights;
    return std::sqrt(squared(y, mean)) - radius;
  }

  /// As `sum_hats`, for one cell that may not see all particles around.
  double hats(const Coord<D>& cell, const CellSight<D>& sight) const {
    const Vec<double, D> y = center(cell);
    double weights = 0.0;
    grid::for_each_neighbor<D>(particles, cell, 0, 1, [&](Index i, const std::array<double, D>& x, const auto& scale) {
      double w = 1.0;
      for (int d = 0; d < D; ++d) w *= std::max(1.0 - std::abs(x[d] - y[d]), 0.0);
      if (w > 0.0 && sight.sees(i, x, scale)) weights += w;
    });
    return weights;
  }

  double anisotropic(const AnisotropicKernel<D>* kernels, const Coord<D>& cell, Index reach) const {
    const KernelSum<D> sum = sum_kernels<D>(particles, kernels, cell, reach, center(cell));
    const double slope = sum.gradient.norm();
    if (sum.value >= 1.0) return -band;
    if (sum.value <= 0.0) return band;
    // Across the surface the sum falls about like 1 / (1 + exp(s)), whose slope and value give the distance anywhere; a tangent
    // would be right at the surface alone, and a cell is as wide as the whole fall.
    const double distance = sum.value * (1.0 - sum.value) * std::log((1.0 - sum.value) / sum.value);
    return std::abs(distance) < band * slope ? distance / slope : std::copysign(band, distance);
  }
};

}  // namespace meniscus::fluids
