/// Counts of the cells and particles in the connected components of a liquid, for reports.
#pragma once

#include "meniscus/grid/grid.hpp"
#include "meniscus/grid/particles/particles.hpp"

#include <vector>

namespace meniscus::fluids {

/// Collective: cells[label] = number of the cells with a label, first[label] = C-ordered index of the first of them in the domain
/// (that of its last cell and one, where there is none). `labels`: of the cells of the block.
template <int D>
void count_component_cells(const grid::Grid<D>& grid, const std::int32_t* labels, std::vector<Index>& cells,
                           std::vector<Index>& first);

/// Collective: counts[label] = number of the particles in the cells with a label; those outside of the domain belong to the
/// nearest cell, on periodic axes to that of their image. Particles lie in their blocks.
template <class T, int D>
void count_component_particles(grid::ParticleSet& particles, const grid::Grid<D>& grid, const std::int32_t* labels,
                               std::vector<Index>& counts);

}  // namespace meniscus::fluids
