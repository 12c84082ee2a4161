/// Ghost particles: copies of the particles of neighbouring blocks that lie in the cells next to a block.
///
/// Sums over the particles around a sample go through them, in global order: to exchange partial sums would change the rounding.
#pragma once

#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::grid {

/// The cells of a block, and one more layer of cells that neighbouring blocks own. Periodic axes do not
/// continue beyond the last cell of the domain.
template <int D>
struct CellWindow {
  Coord<D> begin{};  ///< global coordinates
  Coord<D> shape{};

  explicit CellWindow(const Grid<D>& grid) {
    for (int d = 0; d < D; ++d) {
      const auto a = static_cast<std::size_t>(d);
      const Index lower = grid.first_cell()[a], upper = lower + grid.local_shape()[a];
      begin[a] = lower > 0 ? lower - 1 : 0;
      shape[a] = (upper < grid.shape()[a] ? upper + 1 : upper) - begin[a];
    }
  }
  /// Linear index of a cell of the window.
  Index index(const Coord<D>& cell) const {
    Index i = 0;
    for (std::size_t d = 0; d < D; ++d) i = i * shape[d] + cell[d] - begin[d];
    return i;
  }
};

/// Collective: the particles of the block (which have to lie in it) and of the window around it, with all columns, ordered by
/// global cell and id.
template <int D>
ParticleSet with_ghost_particles(const ParticleSet& own, const Grid<D>& grid, Workspace& workspace);

}  // namespace meniscus::grid
