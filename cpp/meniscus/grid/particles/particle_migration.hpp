/// Migration of particles to the blocks that own their cells, however far they have moved.
#pragma once

#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::grid {

/// Order of the particles of a block after migration.
enum class MigratedOrder {
  by_cell,  ///< (global cell, id), so that nothing depends on the blocks or on the ways that particles took
  any       ///< those that come take the places of those that go, so that only they are moved in memory
};

/// Collective: hands every particle to the block in which it lies, with its id and all columns. Particles that blocks have added
/// on their own get ids that no other particle has, in the order of the blocks. Returns how many particles this block has given
/// away.
///
/// One gather; where particles move, another one, and one message for each pair of blocks between which they do.
///
/// Throws InvalidArgument, on all blocks, where columns differ between blocks or a position is not finite.
template <int D>
Index migrate_particles(ParticleSet& particles, const Grid<D>& grid, Workspace& workspace,
                        MigratedOrder order = MigratedOrder::by_cell);

/// Which of n points (n, D), m, lie in cells of the block.
template <class T, int D>
std::vector<Index> points_in_block(const Grid<D>& grid, const T* points, Index n);

}  // namespace meniscus::grid
