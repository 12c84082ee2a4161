#include "meniscus/grid/particles/particle_migration.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/blocks/block_map.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/packed_rows.hpp"
#include "meniscus/parallel/parcels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace meniscus::grid {
namespace {

template <class T, int D>
bool receivers(const ParticleSet& particles, const Grid<D>& grid, const BlockMap<D>& blocks, std::vector<int>& to) {
  const auto* x = reinterpret_cast<const T*>(particles.positions().data.data());
  for (Index i = 0; i < particles.size(); ++i) {
    for (int d = 0; d < D; ++d)
      if (!std::isfinite(x[i * D + d])) return false;
    to[static_cast<std::size_t>(i)] = blocks.block_of(locate_in_domain(grid, x + i * D).cell);
  }
  return true;
}

/// A number that differs, most likely, where columns do.
Index columns_digest(const ParticleSet& particles) {
  std::uint64_t hash = 14695981039346656037u;  // Fowler, Noll and Vo's hash, 64 bits
  const auto add = [&](std::uint64_t v) { hash = (hash ^ v) * 1099511628211u; };
  for (const ParticleColumn& c : particles.columns()) {
    for (const char letter : c.name) add(static_cast<unsigned char>(letter));
    add(static_cast<std::uint64_t>(c.type) + 1);
    add(static_cast<std::uint64_t>(c.width));
  }
  return static_cast<Index>(hash >> 1);
}

/// What blocks tell each other before particles move.
struct Announcement {
  Index columns, common_ids, own_ids, valid;
};

}  // namespace

template <int D>
Index migrate_particles(ParticleSet& particles, const Grid<D>& grid, Workspace& workspace) {
  require(particles.dimension() == D, "particles of dimension ", particles.dimension(), " do not lie in a grid of dimension ", D);
  parallel::Communicator& communicator = *grid.communicator();
  if (!grid.block().cut()) {
    particles.sort_by_cell(grid, workspace);
    return 0;
  }
  const int own = grid.block().number;
  const BlockMap<D> blocks(grid);
  std::vector<int> to(static_cast<std::size_t>(particles.size()), own);
  const bool valid = particles.positions().type == ColumnType::float32 ? receivers<float>(particles, grid, blocks, to)
                                                                       : receivers<double>(particles, grid, blocks, to);
  const Announcement mine{columns_digest(particles), particles.common_ids(), particles.next_id() - particles.common_ids(), valid};
  std::vector<Announcement> all(static_cast<std::size_t>(communicator.size()));
  communicator.gather(&mine, sizeof mine, all.data());
  Index common = 0, before = 0, more = 0;
  for (std::size_t b = 0; b < all.size(); ++b) {
    require(all[b].valid != 0, "positions of particles must be finite, those of rank ", b, " are not");
    require(all[b].columns == all[0].columns, "particles must have the same columns on all ranks, but those of rank ", b,
            " are not those of rank 0");
    common = std::max(common, all[b].common_ids);
    if (static_cast<int>(b) < own) before += all[b].own_ids;
    more += all[b].own_ids;
  }
  // Particles that blocks have added on their own follow those of all, in the order of the blocks.
  auto* ids = reinterpret_cast<Index*>(particles.ids().data.data());
  for (Index i = 0; more > 0 && i < particles.size(); ++i)
    if (ids[i] >= particles.common_ids()) ids[i] += common + before - particles.common_ids();

  std::vector<std::size_t> columns(particles.columns().size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  parallel::Parcels outgoing;
  Index gone = 0;
  const auto flags = workspace.take<std::uint8_t>(particles.size());
  auto packing = communicator.packing();
  for (Index i = 0; i < particles.size(); ++i) {
    const int block = to[static_cast<std::size_t>(i)];
    flags.data()[i] = block != own;
    if (block == own) continue;
    pack_row(particles, columns, i, outgoing[block]);
    ++gone;
  }
  packing.reset();
  const parallel::Parcels incoming = parallel::exchange_parcels(communicator, parallel::tags::particles, outgoing);
  if (gone > 0) particles.remove(flags.data(), workspace);
  for (const auto& [block, bytes] : incoming) append_rows(particles, columns, bytes);
  particles.set_next_id(common + more);
  particles.sort_by_cell(grid, workspace);
  return gone;
}

template <class T, int D>
std::vector<Index> points_in_block(const Grid<D>& grid, const T* points, Index n) {
  std::vector<Index> own;
  for (Index i = 0; i < n; ++i)
    if (in_block<D>(grid, locate_in_domain(grid, points + i * D).cell)) own.push_back(i);
  return own;
}

template std::vector<Index> points_in_block<float, 2>(const Grid<2>&, const float*, Index);
template std::vector<Index> points_in_block<double, 2>(const Grid<2>&, const double*, Index);
template std::vector<Index> points_in_block<float, 3>(const Grid<3>&, const float*, Index);
template std::vector<Index> points_in_block<double, 3>(const Grid<3>&, const double*, Index);
template Index migrate_particles<2>(ParticleSet&, const Grid<2>&, Workspace&);
template Index migrate_particles<3>(ParticleSet&, const Grid<3>&, Workspace&);

}  // namespace meniscus::grid
