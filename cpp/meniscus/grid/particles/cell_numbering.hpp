/// Ids of particles that have been appended cell by cell, in an order of their own within each cell.
#pragma once

#include "meniscus/grid/particles/particles.hpp"

#include <span>

namespace meniscus::grid {

/// Collective: numbers the particles from index `first` on, starts[k] to starts[k + 1] - 1 (counted from there) for cells[k], a
/// linear index in the domain, ascending. Ids continue after those of all blocks in the order of the cells, wherever the
/// particles lie now. In one block they are what `append` gives.
void number_by_cells(ParticleSet& particles, Index first, std::span<const Index> cells, std::span<const Index> starts,
                     parallel::Communicator& communicator);

}  // namespace meniscus::grid
