#include "meniscus/grid/particles/particle_migration.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_location.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace meniscus::grid {
namespace {

/// Finds the block of a cell.
template <int D>
class BlockOfCell {
 public:
  explicit BlockOfCell(const Grid<D>& grid) {
    struct Box {
      Coord<D> first, shape;
    };
    parallel::Communicator& c = *grid.communicator();
    const Box own{grid.first_cell(), grid.local_shape()};
    std::vector<Box> all(static_cast<std::size_t>(c.size()));
    c.gather(&own, sizeof own, all.data());
    for (std::size_t d = 0; d < D; ++d) {
      for (const Box& b : all) starts_[d].push_back(b.first[d]);
      std::sort(starts_[d].begin(), starts_[d].end());
      starts_[d].erase(std::unique(starts_[d].begin(), starts_[d].end()), starts_[d].end());
    }
  }
  /// Blocks are numbered in C order.
  int operator()(const Coord<D>& cell) const {
    Index number = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const auto after = std::upper_bound(starts_[d].begin(), starts_[d].end(), cell[d]);
      number = number * static_cast<Index>(starts_[d].size()) + (after - starts_[d].begin()) - 1;
    }
    return static_cast<int>(number);
  }

 private:
  std::array<std::vector<Index>, D> starts_;
};

template <class T, int D>
bool receivers(const ParticleSet& particles, const Grid<D>& grid, const BlockOfCell<D>& block_of, std::vector<int>& to) {
  const auto* x = reinterpret_cast<const T*>(particles.positions().data.data());
  for (Index i = 0; i < particles.size(); ++i) {
    for (int d = 0; d < D; ++d)
      if (!std::isfinite(x[i * D + d])) return false;
    to[static_cast<std::size_t>(i)] = block_of(locate_in_domain(grid, x + i * D).cell);
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
  Index columns, receivers, next_id, valid;
};
struct Parcel {
  Index to, count;
};

}  // namespace

template <int D>
Index migrate_particles(ParticleSet& particles, const Grid<D>& grid, Workspace& workspace) {
  require(particles.dimension() == D, "particles of dimension ", particles.dimension(), " do not lie in a grid of dimension ", D);
  parallel::Communicator& communicator = *grid.communicator();
  const auto blocks = static_cast<std::size_t>(grid.block().cut() ? communicator.size() : 1);
  const int own = grid.block().number;
  if (blocks == 1) {
    particles.sort_by_cell(grid, workspace);
    return 0;
  }
  const BlockOfCell<D> block_of(grid);
  std::vector<int> to(static_cast<std::size_t>(particles.size()), own);
  const bool valid = particles.positions().type == ColumnType::float32 ? receivers<float>(particles, grid, block_of, to)
                                                                       : receivers<double>(particles, grid, block_of, to);
  std::map<int, std::vector<Index>> leaving;
  Index gone = 0;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i] != own) {
      leaving[to[i]].push_back(static_cast<Index>(i));
      ++gone;
    }
  const Announcement mine{columns_digest(particles), static_cast<Index>(leaving.size()), particles.next_id(), valid};
  std::vector<Announcement> all(blocks);
  communicator.gather(&mine, sizeof mine, all.data());
  std::size_t most = 0;
  Index next_id = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    require(all[b].valid != 0, "positions of particles must be finite, those of rank ", b, " are not");
    require(all[b].columns == all[0].columns, "particles must have the same columns on all ranks, but those of rank ", b,
            " are not those of rank 0");
    most = std::max(most, static_cast<std::size_t>(all[b].receivers));
    next_id = std::max(next_id, all[b].next_id);
  }
  std::vector<Parcel> parcels(most, {-1, 0}), parcels_of_all(blocks * most);
  std::size_t k = 0;
  for (const auto& [receiver, list] : leaving) parcels[k++] = {receiver, static_cast<Index>(list.size())};
  if (most > 0) communicator.gather(parcels.data(), most * sizeof(Parcel), parcels_of_all.data());

  std::size_t row = 0;
  for (const ParticleColumn& c : particles.columns()) row += static_cast<std::size_t>(c.row_bytes());
  auto packing = communicator.packing();
  std::vector<std::byte> out(static_cast<std::size_t>(gone) * row), in;
  std::vector<parallel::Message> outgoing, incoming;
  std::byte* next = out.data();
  for (const auto& [receiver, list] : leaving) {
    outgoing.push_back({receiver, parallel::tags::particles, next, list.size() * row});
    for (const Index i : list)
      for (const ParticleColumn& c : particles.columns()) {
        std::memcpy(next, c.data.data() + i * c.row_bytes(), static_cast<std::size_t>(c.row_bytes()));
        next += c.row_bytes();
      }
  }
  Index coming = 0;
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t p = 0; p < most; ++p) {
      const Parcel& parcel = parcels_of_all[b * most + p];
      if (parcel.to != own) continue;
      incoming.push_back({static_cast<int>(b), parallel::tags::particles, nullptr, static_cast<std::size_t>(parcel.count) * row});
      coming += parcel.count;
    }
  in.resize(static_cast<std::size_t>(coming) * row);
  std::byte* place = in.data();
  for (parallel::Message& m : incoming) {
    m.data = place;
    place += m.bytes;
  }
  packing.reset();
  communicator.exchange(outgoing, incoming);

  std::vector<std::uint8_t> flags(to.size());
  std::transform(to.begin(), to.end(), flags.begin(), [&](int b) { return b != own; });
  particles.remove(flags.data(), workspace);
  const Index first = particles.append(coming);
  auto unpacking = communicator.packing();
  const std::byte* column_begin = in.data();
  for (const ParticleColumn& known : particles.columns()) {
    ParticleColumn& c = particles.column(known.name);
    const std::byte* from = column_begin;
    for (Index i = first; i < particles.size(); ++i, from += row)
      std::memcpy(c.data.data() + i * c.row_bytes(), from, static_cast<std::size_t>(c.row_bytes()));
    column_begin += c.row_bytes();
  }
  unpacking.reset();
  particles.set_next_id(next_id);
  particles.sort_by_cell(grid, workspace);
  return gone;
}

template Index migrate_particles<2>(ParticleSet&, const Grid<2>&, Workspace&);
template Index migrate_particles<3>(ParticleSet&, const Grid<3>&, Workspace&);

}  // namespace meniscus::grid
