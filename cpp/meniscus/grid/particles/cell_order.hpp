/// Sorting of particles by cell, from which transfers and surfaces of particles start.
#pragma once

#include "meniscus/grid/particles/ghost_particles.hpp"

namespace meniscus::grid {

/// Sorts the particles by cell and id, unless they are sorted, and sets starts[c] to the first particle of the cell with linear
/// index c in a window, or above (cells + 1 values). Throws InvalidArgument for a position that is not finite, and where the grid
/// is cut for one that is not in the window.
template <class T, int D>
void order_by_cell(ParticleSet& particles, const Grid<D>& grid, const CellWindow<D>& window, Index* starts, Workspace& workspace);

}  // namespace meniscus::grid
