/// Distances, in cells, to the nearest marked cell.
#pragma once

#include "meniscus/grid/grid.hpp"

#include <span>
#include <vector>

namespace meniscus::grid {

/// Clearances above this are not told apart: it is the value of all cells that are farther away.
inline constexpr std::uint8_t largest_clearance = 16;

/// Replaces marks that are not zero by zero, and others by the distance in cells, along the axis where it is most, to the nearest
/// marked cell; around periodic axes the shorter way. C-ordered over the cells of a grid of one block. Returns the number of
/// marked cells. `scratch` grows to what is needed and is best kept.
template <int D>
Index find_clearance(const Grid<D>& grid, std::span<std::uint8_t> cells, std::vector<std::uint8_t>& scratch);

/// Shifts from a body to its images around periodic axes that a domain may see, m; the first is none.
template <int D>
std::vector<Vec<double, D>> domain_images(const Grid<D>& grid);

/// Throws InvalidArgument for a point that is half a length of the domain or more outside along a periodic axis: so far, its
/// images do not cover the domain.
template <int D>
void require_images(const Grid<D>& grid, std::span<const Vec<double, D>> points);

}  // namespace meniscus::grid
