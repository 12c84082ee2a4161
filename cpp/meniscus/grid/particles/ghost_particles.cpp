#include "meniscus/grid/particles/ghost_particles.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/blocks/block_map.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/packed_rows.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/parallel/parcels.hpp"

namespace meniscus::grid {
namespace {

using Places = std::vector<std::vector<Index>>;

/// For every own cell along an axis, the places of the blocks whose ghosts it is among.
template <int D>
Places places_that_see(const BlockMap<D>& blocks, const Grid<D>& grid, int axis, Index layers, bool around) {
  const Index d = axis;
  const Index n = grid.shape()[d];
  Places places(grid.local_shape()[d]);
  for (Index c = 0; c < grid.local_shape()[d]; ++c)
    for (Index k = 0; k < blocks.count(axis); ++k) {
      const Index lower = blocks.first(axis, k) - layers;
      const Index upper = (k + 1 < blocks.count(axis) ? blocks.first(axis, k + 1) : n) + layers;
      const Index cell = grid.first_cell()[d] + c;
      bool seen = cell >= lower && cell < upper;
      if (around && grid.periodic()[d]) seen = seen || cell + n < upper || cell - n >= lower || upper - lower >= n;
      if (seen) places[c].push_back(k);
    }
  return places;
}

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
  std::array<Places, D> places;
  Coord<D> own_places;
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    places[a] = places_that_see(blocks, grid, d, layers, around == GhostsAround::periodic_axes_go_on);
    own_places[a] = blocks.own_place(d);
  }
  parallel::Parcels outgoing;
  const Coord<D>& n = grid.local_shape();
  for (Index i = 0; i < product<D>(n); ++i) {
    if (starts[i] == starts[i + 1]) continue;
    std::array<const std::vector<Index>*, D> seen;
    Index receivers = 1, rest = i;
    for (std::size_t d = D; d-- > 0; rest /= n[d]) {
      seen[d] = &places[d][rest % n[d]];
      receivers *= static_cast<Index>(seen[d]->size());
    }
    for (Index r = 0; receivers > 1 && r < receivers; ++r) {
      Coord<D> to;
      rest = r;
      for (std::size_t d = D; d-- > 0; rest /= static_cast<Index>(seen[d]->size()))
        to[d] = (*seen[d])[static_cast<std::size_t>(rest) % seen[d]->size()];
      if (to == own_places) continue;
      std::vector<std::byte>& bytes = outgoing[blocks.number(to)];
      for (Index p = starts[i]; p < starts[i + 1]; ++p) pack_row(own, sent, p, bytes);
    }
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
