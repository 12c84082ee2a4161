/// Volume fractions of level sets, and distances to the planes of volume fractions, from which redistancing goes on.
#pragma once

#include "meniscus/surface/volume_of_fluid/open_space.hpp"

namespace meniscus::surface {

/// Sets `out` (on cells, m, negative in the liquid) at each cell to the distance from the parts of planes in it and in the cells
/// around, and where there are none to `far`. In a cell that is full, and in one that is empty, the sign is that of its liquid.
/// Ghosts of the fractions must be up to date.
template <int D>
void fraction_distance(const grid::Field<double, D>& fractions, const OpenSpace<D>& open, double far,
                       grid::Field<double, D>& out);

/// Sets `out` (on cells) to the part of the open space of each cell where phi <= 0: below the plane that the multilinear
/// interpolant has in the middle of the cell. phi is on the nodes, or on cells; then a node has the mean of the cells around it.
/// Ghosts of phi must be up to date. Cells without open space have 0.
template <class T, int D>
void fractions_below(const grid::Field<T, D>& phi, const OpenSpace<D>& open, grid::Field<double, D>& out);

}  // namespace meniscus::surface
