#include "meniscus/fluids/particles/window_particles.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/cell_order.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <algorithm>
#include <optional>

namespace meniscus::fluids {
namespace {

/// Particles whose positions, in cells, and distances go to places of the result.
template <class T, int D>
struct Reader {
  const grid::Grid<D>& grid;
  const T* x;
  const T* distance;
  double* positions;
  double* distances;

  grid::CellLocation<D> location(Index i) const { return grid::locate_in_domain(grid, x + i * D); }
  void read(Index i, const grid::CellLocation<D>& at, Index to) const {
    for (std::size_t d = 0; d < D; ++d)
      positions[to * D + static_cast<Index>(d)] = static_cast<double>(at.cell[d]) + at.offset[d];
    if (distance) distances[to] = static_cast<double>(distance[i]) / grid.spacing();
  }
  /// The same for a run, to the places that it has.
  void read_all(Index begin, Index end) const {
    simd_dispatch([&] {
      grid::LocatedPoints<D> at;
      const double h = grid.spacing();
      for (Index first = begin; first < end; first += grid::located_points) {
        const Index n = std::min(grid::located_points, end - first);
        grid::locate_in_domain(grid, x + first * D, n, at);
        double* const to = positions + first * D;
        for (Index l = 0; l < n; ++l)
          for (std::size_t d = 0; d < D; ++d) to[l * D + static_cast<Index>(d)] = at.cell[d][l] + at.offset[d][l];
        if (!distance) continue;
        for (Index i = first; i < first + n; ++i) distances[i] = static_cast<double>(distance[i]) / h;
      }
    });
  }
};

}  // namespace

template <int D>
template <class T>
void WindowParticles<D>::gather(grid::ParticleSet& particles, bool carried, Workspace& workspace) {
  const Index own = particles.size();
  const grid::CellWindow<D> block(grid_, 0);
  const T* const own_distances = carried ? grid::particle_values<T>(particles, "distance", 1) : nullptr;
  auto own_starts = workspace.take<Index>(product<D>(block.shape) + 1);
  grid::order_by_cell<T, D>(particles, grid_, block, own_starts.data(), workspace);
  std::optional<grid::ParticleSet> ghosts;
  if (grid_.block().cut())
    ghosts.emplace(grid::ghost_particles<D>(particles, own_starts.data(), grid_, layers_, grid::GhostsAround::periodic_axes_go_on,
                                            {carried ? "distance" : ""}, workspace));
  count_ = own + (ghosts ? ghosts->size() : 0);
  positions_ = workspace.take<double>(count_ * D);
  if (carried) distances_ = workspace.take<double>(count_);
  const Reader<T, D> of_own{grid_, grid::particle_positions<T, D>(particles), own_distances, positions_.data(),
                            distances_.data()};
  if (!ghosts) {
    starts_ = std::move(own_starts);
    parallel_for(0, own, 4096, [&](Index begin, Index end) { of_own.read_all(begin, end); });
    return;
  }
  // A cell has particles of one block only, and each set is in the order of their ids in a cell.
  const Reader<T, D> of_ghosts{grid_, grid::particle_positions<T, D>(*ghosts),
                               carried ? grid::particle_values<T>(*ghosts, "distance", 1) : nullptr, positions_.data(),
                               distances_.data()};
  const Index cells = product<D>(window_.shape());
  starts_ = workspace.take<Index>(cells + 1);
  const auto next = workspace.take<Index>(cells + 1);
  std::fill_n(next.data(), cells + 1, Index{0});
  const auto for_all = [&](auto&& visit) {
    for (Index i = 0; i < own; ++i) visit(of_own, i);
    for (Index i = 0; i < ghosts->size(); ++i) visit(of_ghosts, i);
  };
  for_all([&](const Reader<T, D>& r, Index i) { ++next.data()[window_.index(r.location(i).cell) + 1]; });
  for (Index c = 0; c < cells; ++c) next.data()[c + 1] += next.data()[c];
  std::copy_n(next.data(), cells + 1, starts_.data());
  for_all([&](const Reader<T, D>& r, Index i) {
    const grid::CellLocation<D> at = r.location(i);
    r.read(i, at, next.data()[window_.index(at.cell)]++);
  });
}

template class WindowParticles<2>;
template class WindowParticles<3>;
template void WindowParticles<2>::gather<double>(grid::ParticleSet&, bool, Workspace&);
template void WindowParticles<3>::gather<float>(grid::ParticleSet&, bool, Workspace&);
template void WindowParticles<3>::gather<double>(grid::ParticleSet&, bool, Workspace&);

}  // namespace meniscus::fluids
