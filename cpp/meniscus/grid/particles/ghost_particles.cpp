#include "meniscus/grid/particles/ghost_particles.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/blocks/block_map.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/packed_rows.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/parallel/parcels.hpp"

namespace meniscus::grid {
namespace {

template <class T, int D>
void require_in(const CellWindow<D>& window, const T* x, Index n, const Grid<D>& grid) {
  for (Index i = 0; i < n; ++i)
    require(window.contains(locate_in_domain(grid, x + i * D).cell), "particle ", i,
            " lies outside of the block that has it; migrate hands it to the right one");
}

}  // namespace

template <int D>
void require_in_window(const ParticleSet& particles, const Grid<D>& grid, const CellWindow<D>& window) {
  if (!grid.block().cut()) return;
  const ParticleColumn& x = particles.positions();
  with_scalar<D>(particles, [&]<class T>(T) {
    require_in<T, D>(window, reinterpret_cast<const T*>(x.data.data()), particles.size(), grid);
  });
}

template <int D>
ParticleSet ghost_particles(const ParticleSet& own, const Index* starts, const Grid<D>& grid, Index layers, GhostsAround around,
                            std::initializer_list<const char*> columns, Workspace& workspace) {
  ParticleSet ghosts(own.dimension(), own.positions().type);
  std::vector<std::size_t> sent{0, 1}, received{0, 1};
  for (const char* name : columns)
    for (std::size_t c = 2; c < own.columns().size(); ++c) {
      const ParticleColumn& column = own.columns()[c];
      if (column.name != name) continue;
      ghosts.add_column(column.name, column.type, column.width);
      sent.push_back(c);
      received.push_back(received.size());
    }
  if (!grid.block().cut()) return ghosts;

  const BlockMap<D> blocks(grid);
  const CellViewers<D> viewers(blocks, grid, layers, around == GhostsAround::periodic_axes_go_on);
  parallel::Parcels outgoing;
  const Coord<D>& n = grid.local_shape();
  for (Index i = 0; i < product<D>(n); ++i) {
    if (starts[i] == starts[i + 1]) continue;
    Coord<D> cell;
    Index rest = i;
    for (std::size_t d = D; d-- > 0; rest /= n[d]) cell[d] = rest % n[d];
    viewers.for_each(cell, [&](int block) {
      std::vector<std::byte>& bytes = outgoing[block];
      for (Index p = starts[i]; p < starts[i + 1]; ++p) pack_row(own, sent, p, bytes);
    });
  }
  for (const auto& [block, bytes] : parallel::exchange_parcels(*grid.communicator(), parallel::tags::particles, outgoing))
    append_rows(ghosts, received, bytes);
  ghosts.sort_by_cell(grid, workspace);
  return ghosts;
}

#define MENISCUS_INSTANTIATE(D)                                                                                  \
  template void require_in_window<D>(const ParticleSet&, const Grid<D>&, const CellWindow<D>&);                  \
  template ParticleSet ghost_particles<D>(const ParticleSet&, const Index*, const Grid<D>&, Index, GhostsAround, \
                                          std::initializer_list<const char*>, Workspace&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
