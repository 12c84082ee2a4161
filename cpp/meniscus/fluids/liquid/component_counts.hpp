/// Counts of the cells and particles in the connected components of a liquid, for reports.
#pragma once

#include "meniscus/grid/grid.hpp"
#include "meniscus/grid/particles/particles.hpp"

#include <span>

namespace meniscus::fluids {

/// cells[label] = number of the cells with a label, first[label] = index of the first of them (n, where there is none), of n
/// cells.
void count_component_cells(const std::int32_t* labels, Index n, std::span<Index> cells, std::span<Index> first);

/// counts[label] = number of the particles in the cells with a label; those outside of the domain belong to the nearest cell, on
/// periodic axes to that of their image.
template <class T, int D>
void count_component_particles(grid::ParticleSet& particles, const grid::Grid<D>& grid, const std::int32_t* labels,
                               std::span<Index> counts);

}  // namespace meniscus::fluids
