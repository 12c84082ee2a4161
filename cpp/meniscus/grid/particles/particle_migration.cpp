#include "meniscus/grid/particles/particle_migration.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/blocks/block_map.hpp"
#include "meniscus/grid/blocks/far_points.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/packed_rows.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/parallel/parcels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace meniscus::grid {
namespace {

/// What a block does with its particles.
struct Departures {
  bool finite = true;
  std::vector<Index> leaving;  ///< ascending
};

template <class T, int D>
Departures departures(const ParticleSet& particles, const Grid<D>& grid) {
  const auto* x = reinterpret_cast<const T*>(particles.positions().data.data());
  const Index n = particles.size();
  if (first_not_finite(x, n * D) != n * D) return {false, {}};
  return {true, far_points<T, D>(grid, x, n, box_of_points<T, D>(x, n), 0)};
}

template <class T, int D>
int block_of(const ParticleSet& particles, const Grid<D>& grid, const BlockMap<D>& blocks, Index i) {
  return blocks.block_of(locate_in_domain(grid, reinterpret_cast<const T*>(particles.positions().data.data()) + i * D).cell);
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
template <int D>
struct Announcement {
  Coord<D> first_cell;
  Index columns, common_ids, own_ids, valid, leaving;
};

/// Puts particles that come in the places of those that go, and the last particles where places are left.
void replace(ParticleSet& particles, const std::vector<std::size_t>& columns, const std::vector<Index>& leaving,
             const parallel::Parcels& incoming, Workspace& workspace) {
  particles.append(0);  // their order by cells is lost
  auto hole = leaving.begin();
  for (const auto& [block, bytes] : incoming) {
    const std::byte* next = bytes.data();
    for (; hole != leaving.end() && next < bytes.data() + bytes.size(); ++hole) next = put_row(particles, columns, *hole, next);
    const auto put = static_cast<std::size_t>(next - bytes.data());
    if (put < bytes.size()) append_rows(particles, columns, std::span(bytes).subspan(put));
  }
  if (hole == leaving.end()) return;
  const Index left = leaving.end() - hole, kept = particles.size() - left;
  // Those that go from the end are no holes; as many others at the end stay.
  auto from = leaving.end();
  Index last = particles.size();
  std::vector<std::byte> row;
  for (; hole != from && *hole < kept; ++hole) {
    for (--last; from != hole && *(from - 1) == last; --last) --from;
    row.clear();
    pack_row(particles, columns, last, row);
    put_row(particles, columns, *hole, row.data());
  }
  const auto flags = workspace.take<std::uint8_t>(particles.size());
  std::fill_n(flags.data(), kept, std::uint8_t{0});
  std::fill_n(flags.data() + kept, left, std::uint8_t{1});
  particles.remove(flags.data(), workspace);
}

}  // namespace

template <int D>
Index migrate_particles(ParticleSet& particles, const Grid<D>& grid, Workspace& workspace, MigratedOrder order) {
  require(particles.dimension() == D, "particles of dimension ", particles.dimension(), " do not lie in a grid of dimension ", D);
  parallel::Communicator& communicator = *grid.communicator();
  const auto finish = [&] {
    if (order == MigratedOrder::by_cell) particles.sort_by_cell(grid, workspace);
  };
  if (!grid.block().cut()) {
    finish();
    return 0;
  }
  const int own = grid.block().number;
  const Departures going = with_scalar<D>(particles, [&](auto scalar) { return departures<decltype(scalar)>(particles, grid); });
  const auto gone = static_cast<Index>(going.leaving.size());
  const Announcement<D> mine{grid.first_cell(),      columns_digest(particles),
                             particles.common_ids(), particles.next_id() - particles.common_ids(),
                             going.finite,           gone};
  std::vector<Announcement<D>> all(communicator.size());
  communicator.gather(&mine, sizeof mine, all.data());
  Index common = 0, before = 0, more = 0;
  bool any_leave = false;
  std::vector<Coord<D>> first_cells;
  for (std::size_t b = 0; b < all.size(); ++b) {
    require(all[b].valid != 0, "positions of particles must be finite, those of rank ", b, " are not");
    require(all[b].columns == all[0].columns, "particles must have the same columns on all ranks, but those of rank ", b,
            " are not those of rank 0");
    common = std::max(common, all[b].common_ids);
    if (static_cast<int>(b) < own) before += all[b].own_ids;
    more += all[b].own_ids;
    any_leave = any_leave || all[b].leaving > 0;
    first_cells.push_back(all[b].first_cell);
  }
  // Particles that blocks have added on their own follow those of all, in the order of the blocks.
  auto* ids = reinterpret_cast<Index*>(particles.ids().data.data());
  for (Index i = 0; more > 0 && i < particles.size(); ++i)
    if (ids[i] >= particles.common_ids()) ids[i] += common + before - particles.common_ids();

  if (any_leave) {
    const BlockMap<D> blocks(grid, first_cells);
    std::vector<std::size_t> columns(particles.columns().size());
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    parallel::Parcels outgoing;
    auto packing = communicator.packing();
    for (const Index i : going.leaving) {
      const int block =
          with_scalar<D>(particles, [&](auto scalar) { return block_of<decltype(scalar)>(particles, grid, blocks, i); });
      pack_row(particles, columns, i, outgoing[block]);
    }
    packing.reset();
    const parallel::Parcels incoming = parallel::exchange_parcels(communicator, parallel::tags::particles, outgoing);
    replace(particles, columns, going.leaving, incoming, workspace);
  }
  particles.set_next_id(common + more);
  finish();
  return gone;
}

template <class T, int D>
std::vector<Index> points_in_block(const Grid<D>& grid, const T* points, Index n) {
  std::vector<Index> own;
  for (Index i = 0; i < n; ++i)
    if (in_block<D>(grid, locate_in_domain(grid, points + i * D).cell)) own.push_back(i);
  return own;
}

template std::vector<Index> points_in_block<double, 2>(const Grid<2>&, const double*, Index);
template std::vector<Index> points_in_block<float, 3>(const Grid<3>&, const float*, Index);
template std::vector<Index> points_in_block<double, 3>(const Grid<3>&, const double*, Index);
template Index migrate_particles<2>(ParticleSet&, const Grid<2>&, Workspace&, MigratedOrder);
template Index migrate_particles<3>(ParticleSet&, const Grid<3>&, Workspace&, MigratedOrder);

}  // namespace meniscus::grid
