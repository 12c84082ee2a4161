/// Ghost particles: copies of the particles of other blocks that lie in the cells around a block.
///
/// Sums over the particles around a sample go through them, in global order: to exchange partial sums would change the rounding.
#pragma once

#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/particles.hpp"

#include <initializer_list>

namespace meniscus::grid {

/// The cells of a block, and layers of cells that neighbouring blocks own. Periodic axes do not continue beyond the last cell of
/// the domain.
template <int D>
struct CellWindow {
  Coord<D> begin{};  ///< global coordinates
  Coord<D> shape{};

  CellWindow(const Grid<D>& grid, Index layers) {
    for (std::size_t d = 0; d < D; ++d) {
      const Index lower = grid.first_cell()[d], upper = lower + grid.local_shape()[d];
      begin[d] = std::max<Index>(lower - layers, 0);
      shape[d] = std::min(upper + layers, grid.shape()[d]) - begin[d];
    }
  }
  /// Linear index of a cell of the window.
  Index index(const Coord<D>& cell) const {
    Index i = 0;
    for (std::size_t d = 0; d < D; ++d) i = i * shape[d] + cell[d] - begin[d];
    return i;
  }
  /// The same of n located points.
  MENISCUS_INLINE void indices(const LocatedPoints<D>& at, Index n, Index* to) const {
    for (Index l = 0; l < n; ++l) to[l] = at.cell[0][l] - begin[0];
    for (std::size_t d = 1; d < D; ++d) {
      const Index cells = shape[d], first = begin[d];
      const std::int32_t* const cell = at.cell[d].data();
      for (Index l = 0; l < n; ++l) to[l] = to[l] * cells + cell[l] - first;
    }
  }
  bool contains(const Coord<D>& cell) const {
    for (std::size_t d = 0; d < D; ++d)
      if (cell[d] < begin[d] || cell[d] >= begin[d] + shape[d]) return false;
    return true;
  }
};

/// Whether ghost particles go on around periodic axes that are cut.
enum class GhostsAround { sides_of_domain_end, periodic_axes_go_on };

/// Collective: the particles of other blocks within `layers` cells of the own one, with the named columns, ordered by global cell
/// and id. `starts`: first of the own particles in each cell of the block, and their number, as `order_by_cell` gives them.
template <int D>
ParticleSet ghost_particles(const ParticleSet& own, const Index* starts, const Grid<D>& grid, Index layers, GhostsAround around,
                            std::initializer_list<const char*> columns, Workspace& workspace);

/// Throws InvalidArgument where the grid is cut and a particle is not in the window.
template <int D>
void require_in_window(const ParticleSet& particles, const Grid<D>& grid, const CellWindow<D>& window);

}  // namespace meniscus::grid
