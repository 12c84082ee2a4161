/// Hair in the cells of a grid: its volume, its directions and its momentum, from the exact pieces of all segments in all cells.
///
/// Source: Lee 2018, sections 2.3.4 and 3.5 (volume and direction of hair in water); pieces by exact clipping: own.
#pragma once

#include "meniscus/grid/grid.hpp"
#include "meniscus/mesh/triangle_mesh.hpp"

#include <array>
#include <span>

namespace meniscus::coupling {

/// Per cell, sums over the pieces of hair in it: volume, m^3; volume times velocity; and volume times t t^T for their directions
/// t (xx, yy, zz, xy, yz, zx).
struct HairCell {
  double volume = 0;
  std::array<double, 3> flux{};
  std::array<double, 6> direction{};
};
static_assert(sizeof(HairCell) == 10 * sizeof(double));

/// Adds cylinders of given radii (one per strand) between consecutive points to the cells, which are in the order of arrays of
/// the grid. Velocities vary linearly along each segment. Returns the volume that is in no cell, m^3.
double add_hair(std::span<const std::int64_t> offsets, std::span<const mesh::Point> points,
                std::span<const mesh::Point> velocities, std::span<const double> radii, const grid::Grid<3>& grid,
                std::span<HairCell> cells);

}  // namespace meniscus::coupling
