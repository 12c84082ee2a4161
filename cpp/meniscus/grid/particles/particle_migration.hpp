/// Migration of particles to the blocks that own their cells, however far they have moved.
#pragma once

#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::grid {

/// Collective: hands every particle to the block in which it lies, with its id and all columns, and orders those of each block by
/// (global cell, id), so that nothing depends on the blocks or on the ways that particles took. The next id becomes the largest
/// of all blocks. Returns how many particles this block has given away.
///
/// One gather of the pairs (receiver, number), and one message for each pair.
///
/// Throws InvalidArgument, on all blocks, where columns differ between blocks or a position is not finite.
template <int D>
Index migrate_particles(ParticleSet& particles, const Grid<D>& grid, Workspace& workspace);

}  // namespace meniscus::grid
