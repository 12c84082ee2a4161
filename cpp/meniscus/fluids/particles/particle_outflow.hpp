/// Outflow of liquid particles through open sides.
#pragma once

#include "meniscus/grid/particles/particle_boundary.hpp"

namespace meniscus::fluids {

/// Applies `grid::apply_particle_boundary`, removes the particles beyond open sides, and hands those that have come into another
/// block to that. Collective; the counts are those of all blocks.
template <class T, int D>
grid::FateCounts apply_boundary_and_remove(const grid::Grid<D>& grid, const grid::ParticleBoundary<D>& boundary,
                                           grid::ParticleSet& particles, Workspace& workspace);

}  // namespace meniscus::fluids
