#include "meniscus/grid/particles/particle_numbering.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_location.hpp"

#include <algorithm>
#include <numeric>

namespace meniscus::grid {
namespace {

/// The keys of every other block that has some.
std::vector<std::vector<Index>> keys_of_others(parallel::Communicator& communicator, std::vector<Index>& own) {
  constexpr int tag = parallel::tags::numbering;
  const auto blocks = static_cast<std::size_t>(communicator.size());
  std::vector<Index> sizes(blocks);
  const auto size = static_cast<Index>(own.size());
  communicator.gather(&size, sizeof size, sizes.data());
  std::vector<std::vector<Index>> keys(blocks);
  std::vector<parallel::Message> outgoing, incoming;
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto block = static_cast<int>(b);
    if (block == communicator.rank()) continue;
    keys[b].resize(sizes[b]);
    if (!own.empty()) outgoing.push_back({block, tag, reinterpret_cast<std::byte*>(own.data()), own.size() * sizeof(Index)});
    if (!keys[b].empty())
      incoming.push_back({block, tag, reinterpret_cast<std::byte*>(keys[b].data()), keys[b].size() * sizeof(Index)});
  }
  communicator.exchange(outgoing, incoming);
  return keys;
}

}  // namespace

template <int D>
void number_new_particles(ParticleSet& particles, Index first, const Grid<D>& grid) {
  const Index n = particles.size() - first;
  require(first >= 0 && n >= 0, "there is no particle ", first, " to number, only ", particles.size());
  require(particles.dimension() == D, "particles of dimension ", particles.dimension(), " do not lie in a grid of dimension ", D);
  std::vector<Index> cell(n), order(n), keys(n);
  const auto find_cells = [&](const auto* x) {
    for (Index i = 0; i < n; ++i) cell[i] = cell_index<D>(grid, locate_in_domain(grid, x + (first + i) * D).cell);
  };
  if (particles.positions().type == ColumnType::float32)
    find_cells(reinterpret_cast<const float*>(particles.positions().data.data()));
  else
    find_cells(reinterpret_cast<const double*>(particles.positions().data.data()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return cell[a] < cell[b]; });
  for (std::size_t k = 0; k < keys.size(); ++k) keys[k] = cell[order[k]];

  parallel::Communicator& communicator = *grid.communicator();
  const Index base = particles.next_id() - n;
  auto* ids = reinterpret_cast<Index*>(particles.ids().data.data()) + first;
  const auto others = keys_of_others(communicator, keys);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    // A cell belongs to one block, so keys of different blocks differ.
    auto rank = static_cast<Index>(k);
    for (const auto& theirs : others) rank += std::lower_bound(theirs.begin(), theirs.end(), keys[k]) - theirs.begin();
    ids[order[k]] = base + rank;
  }
  Index all = n;
  for (const auto& theirs : others) all += static_cast<Index>(theirs.size());
  particles.set_next_id(base + all);
}

template void number_new_particles<2>(ParticleSet&, Index, const Grid<2>&);
template void number_new_particles<3>(ParticleSet&, Index, const Grid<3>&);

}  // namespace meniscus::grid
