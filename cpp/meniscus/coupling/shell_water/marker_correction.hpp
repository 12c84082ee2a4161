/// Correction of a level set by escaped markers beside thin walls: each acts on samples that it sees.
///
/// Source: Guendelman et al. 2005, section 4.4.2; Enright et al. 2002, section 3.3.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

#include <span>

namespace meniscus::coupling {

/// `levels`: phi at the markers, m, NaN where nothing is known. A marker of sign s and radius r has escaped where
/// -s level > escape_distance r. Returns how many have, of the inside and of the outside. The order of the markers does not
/// matter.
template <class T, int D>
std::array<Index, 2> correct_past_walls(grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls,
                                        std::span<const Vec<double, D>> points, std::span<const double> levels,
                                        std::span<const std::int8_t> signs, std::span<const double> radii,
                                        double escape_distance);

}  // namespace meniscus::coupling
