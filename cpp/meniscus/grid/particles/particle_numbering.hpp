/// Ids of new particles: numbers that do not depend on the blocks of the grid.
#pragma once

#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::grid {

/// Collective: numbers the particles from index `first` on, which have been appended since the last call, in the order of their
/// global cells; those of one cell in their local order. Ids continue after those of all blocks, and the next id is the same
/// everywhere. In one block, particles that have been appended cell by cell keep the ids that they have.
template <int D>
void number_new_particles(ParticleSet& particles, Index first, const Grid<D>& grid);

}  // namespace meniscus::grid
