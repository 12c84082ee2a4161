#include "meniscus/coupling/hair/hair_volume.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace meniscus::coupling {
using mesh::Point;

namespace {

/// Calls piece(cell, from, to) for the parts of a segment in cells of size 1 that begin at 0; cells may lie outside of a grid.
template <class Piece>
void cut(const Point& a, const Point& b, Piece&& piece) {
  const Point d = b - a;
  std::array<Index, 3> cell, step;
  Point next, stride;
  for (int k = 0; k < 3; ++k) {
    cell[k] = static_cast<Index>(std::floor(a[k]));
    const double infinite = std::numeric_limits<double>::infinity();
    step[k] = d[k] > 0 ? 1 : -1;
    const double wall = static_cast<double>(d[k] > 0 ? cell[k] + 1 : cell[k]);
    next[k] = d[k] == 0 ? infinite : (wall - a[k]) / d[k];
    stride[k] = d[k] == 0 ? infinite : std::abs(1 / d[k]);
  }
  double at = 0;
  while (at < 1) {
    int k = 0;
    if (next[1] < next[k]) k = 1;
    if (next[2] < next[k]) k = 2;
    const double to = std::min(next[k], 1.0);
    if (to > at) piece(cell, at, to);
    at = std::max(at, to);
    cell[k] += step[k];
    next[k] += stride[k];
  }
}

}  // namespace

double add_hair(std::span<const std::int64_t> offsets, std::span<const Point> points, std::span<const Point> velocities,
                std::span<const double> radii, const grid::Grid<3>& grid, std::span<HairCell> cells) {
  const Coord<3> n = grid.shape();
  core::require(static_cast<Index>(cells.size()) == n[0] * n[1] * n[2], "there must be a value per cell");
  const double inverse = 1 / grid.spacing();
  const Point origin(grid.origin()[0], grid.origin()[1], grid.origin()[2]);
  double outside = 0;
  for (Index s = 0; s + 1 < static_cast<Index>(offsets.size()); ++s) {
    const double area = std::numbers::pi * radii[s] * radii[s];
    for (Index i = offsets[s]; i + 1 < offsets[s + 1]; ++i) {
      const Point d = points[i + 1] - points[i];
      const double length = d.norm();
      if (!(length > 0)) continue;
      const Point t = d / length;
      cut(inverse * (points[i] - origin), inverse * (points[i + 1] - origin), [&](const auto& cell, double from, double to) {
        const double volume = area * length * (to - from);
        bool within = true;
        for (int k = 0; k < 3; ++k) within = within && cell[k] >= 0 && cell[k] < n[k];
        if (!within) {
          outside += volume;
          return;
        }
        HairCell& c = cells[(cell[0] * n[1] + cell[1]) * n[2] + cell[2]];
        c.volume += volume;
        const double middle = 0.5 * (from + to);
        for (int k = 0; k < 3; ++k) {
          c.flux[k] += volume * ((1 - middle) * velocities[i][k] + middle * velocities[i + 1][k]);
          c.direction[k] += volume * t[k] * t[k];
          c.direction[3 + k] += volume * t[k] * t[(k + 1) % 3];
        }
      });
    }
  }
  return outside;
}

}  // namespace meniscus::coupling
