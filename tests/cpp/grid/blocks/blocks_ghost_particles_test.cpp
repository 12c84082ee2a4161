// Ghost particles: every particle of another block in the layers around a block comes once, around periodic axes too; and windows
// in which neighbours are searched. The same for items that are no particles.
#include "cut_domains.hpp"

#include "meniscus/grid/blocks/owner_exchange.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/cell_neighbors.hpp"
#include "meniscus/grid/particles/cell_order.hpp"
#include "meniscus/grid/particles/particle_migration.hpp"

#include <algorithm>
#include <cmath>

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;

namespace {

constexpr Index number = 600;

template <int D>
std::array<double, D> place(const Grid<D>& grid, Index id) {
  std::array<double, D> x;
  for (std::size_t d = 0; d < D; ++d) {
    const double u = CounterRandom(5, static_cast<std::uint64_t>(id), 0).uniform2(static_cast<std::uint32_t>(d))[0];
    x[d] = grid.origin()[static_cast<Index>(d)] + u * grid.spacing() * static_cast<double>(grid.shape()[d]);
  }
  return x;
}

/// Cells by which a cell of the domain lies beyond the block, at most along an axis.
template <int D>
Index beyond(const Grid<D>& grid, const Coord<D>& cell, bool around) {
  Index most = 0;
  for (std::size_t d = 0; d < D; ++d) {
    const Index first = grid.first_cell()[d], last = first + grid.local_shape()[d] - 1, n = grid.shape()[d];
    const auto distance = [&](Index c) { return std::max({Index{0}, first - c, c - last}); };
    Index least = distance(cell[d]);
    if (around && grid.periodic()[d]) least = std::min({least, distance(cell[d] - n), distance(cell[d] + n)});
    most = std::max(most, least);
  }
  return most;
}

template <int D>
void check_ghosts(const CutDomain<D>& domain) {
  CAPTURE(domain.name);
  on_blocks(domain, [&](const Grid<D>& grid) {
    ParticleSet particles(D, ColumnType::float64);
    particles.add_column("tag", ColumnType::int32, 1);
    for (Index id = 0; id < number; ++id) {
      const auto x = place(grid, id);
      if (!in_block<D>(grid, locate_in_domain(grid, x.data()).cell)) continue;
      const Index i = particles.append(1);
      std::copy(x.begin(), x.end(), reinterpret_cast<double*>(particles.positions().data.data()) + i * D);
      reinterpret_cast<Index*>(particles.ids().data.data())[i] = id;
      reinterpret_cast<std::int32_t*>(particles.column("tag").data.data())[i] = static_cast<std::int32_t>(3 * id);
    }
    Workspace workspace;
    const CellWindow<D> block(grid, 0);
    std::vector<Index> starts(static_cast<std::size_t>(product<D>(block.shape)) + 1);
    order_by_cell<double, D>(particles, grid, block, starts.data(), workspace);
    for (const bool around : {false, true})
      for (const Index layers : {1, 2, 6, 40}) {
        const ParticleSet ghosts = ghost_particles<D>(
            particles, starts.data(), grid, layers,
            around ? GhostsAround::periodic_axes_go_on : GhostsAround::sides_of_domain_end, {"tag"}, workspace);
        const auto* ids = reinterpret_cast<const Index*>(ghosts.ids().data.data());
        std::vector<Index> found(ids, ids + ghosts.size()), expected;
        for (Index id = 0; id < number; ++id) {
          const auto x = place(grid, id);
          const Index away = beyond<D>(grid, locate_in_domain(grid, x.data()).cell, around);
          if (away > 0 && away <= layers) expected.push_back(id);
        }
        std::sort(found.begin(), found.end());
        if (found != expected) throw std::runtime_error("wrong ghosts");
        for (Index i = 0; i < ghosts.size(); ++i)
          if (reinterpret_cast<const std::int32_t*>(ghosts.columns()[2].data.data())[i] != 3 * ids[i])
            throw std::runtime_error("wrong columns");
      }
  });
}

/// Items anywhere go to the blocks of their cells, and copies of them to the blocks around.
template <int D>
void check_items(const CutDomain<D>& domain) {
  CAPTURE(domain.name);
  on_blocks(domain, [&](const Grid<D>& grid) {
    const auto cell_of = [&](Index id) { return locate_in_domain(grid, place(grid, id).data()).cell; };
    const auto require_all = [&](std::vector<Index> items, Index layers) {
      std::vector<Index> expected;
      for (Index id = 0; id < number; ++id)
        if (beyond<D>(grid, cell_of(id), true) <= layers) expected.push_back(id);
      std::sort(items.begin(), items.end());
      if (items != expected) throw std::runtime_error("wrong items");
    };
    std::vector<Index> items;
    for (Index id = grid.block().number; id < number; id += grid.communicator()->size()) items.push_back(id);
    hand_to_owners<D>(grid, items, cell_of);
    require_all(items, 0);
    for (const Index layers : {0, 1, 2, 6, 40}) {
      std::vector<Index> around = items;
      add_items_around<D>(grid, layers, around, cell_of);
      if (!std::equal(items.begin(), items.end(), around.begin())) throw std::runtime_error("own items come first");
      require_all(around, layers);
    }
  });
}

template <int D>
void check_windows(const CutDomain<D>& domain) {
  CAPTURE(domain.name);
  on_blocks(domain, [&](const Grid<D>& grid) {
    for (const Index layers : {0, 1, 3, 7, 30}) {
      const SearchWindow<D> window(grid, layers);
      for (int axis = 0; axis < D; ++axis) {
        const auto d = static_cast<std::size_t>(axis);
        const Index first = grid.first_cell()[d], last = first + grid.local_shape()[d] - 1, n = grid.shape()[d];
        for (Index c = 0; c < n; ++c) {
          const auto distance = [&](Index k) { return std::max({Index{0}, first - k, k - last}); };
          Index away = distance(c);
          if (grid.periodic()[d]) away = std::min({away, distance(c - n), distance(c + n)});
          const Index at = window.place(axis, c);
          if ((at >= 0) != (away <= layers)) throw std::runtime_error("a cell is missing, or one too many");
          if (at < 0) continue;
          if (((window.cell(axis, at) - c) % n) != 0) throw std::runtime_error("another cell");
          if (window.layers_beyond(axis, at) != away) throw std::runtime_error("another distance");
        }
      }
    }
  });
}

}  // namespace

TEST_CASE("every particle in the layers around a block is among its ghosts, once") {
  for (const auto& domain : cut_domains<2>()) check_ghosts<2>(domain);
  for (const auto& domain : cut_domains<3>()) check_ghosts<3>(domain);
}

TEST_CASE("items come to the blocks of their cells, and to those around, once") {
  for (const auto& domain : cut_domains<2>()) check_items<2>(domain);
  for (const auto& domain : cut_domains<3>()) check_items<3>(domain);
}

TEST_CASE("windows of neighbours have all cells of the layers around a block") {
  for (const auto& domain : cut_domains<2>()) check_windows<2>(domain);
  for (const auto& domain : cut_domains<3>()) check_windows<3>(domain);
}
