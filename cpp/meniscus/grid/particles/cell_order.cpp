#include "meniscus/grid/particles/cell_order.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/ghost_particles.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <algorithm>

namespace meniscus::grid {
namespace {

constexpr Index particles_per_piece = 8192;

/// Sets the cells of particles (linear indices in the window), and returns whether cells, and in each the ids, ascend.
template <class T, int D>
bool find_cells(const Grid<D>& grid, const CellWindow<D>& window, const T* positions, const Index* ids, Index n, Index* cells) {
  return parallel_reduce(
      Index{0}, n, particles_per_piece, true,
      [&](Index begin, Index end) {
        bool ascending = true;
        simd_dispatch([&] {
          const auto in_order = [&](Index before, Index i) {
            return (before < cells[i]) | ((before == cells[i]) & (ids[i - 1] < ids[i]));
          };
          int all = 1;
          LocatedPoints<D> at;
          for (Index first = begin; first < end; first += located_points) {
            const Index count = std::min(located_points, end - first);
            locate_in_domain(grid, positions + first * D, count, at);
            window.indices(at, count, cells + first);
            for (Index i = std::max(first, begin + 1); i < first + count; ++i) all &= in_order(cells[i - 1], i);
          }
          // The piece before may not be done.
          if (begin > 0) all &= in_order(window.index(locate_in_domain(grid, positions + (begin - 1) * D).cell), begin);
          ascending = all != 0;
        });
        return ascending;
      },
      [](bool x, bool y) { return x && y; });
}

/// Between two particles that follow each other start all cells after that of the first, up to that of the second.
void set_starts(const Index* cells, Index n, Index count, Index* starts) {
  if (n == 0) std::fill_n(starts, count + 1, Index{0});
  parallel_for(0, n, particles_per_piece, [&](Index begin, Index end) {
    Index before = begin == 0 ? -1 : cells[begin - 1];
    for (Index i = begin; i < end; ++i) {
      for (Index c = before + 1; c <= cells[i]; ++c) starts[c] = i;
      before = cells[i];
    }
    if (end == n)
      for (Index c = before + 1; c <= count; ++c) starts[c] = n;
  });
}

}  // namespace

template <class T, int D>
void order_by_cell(ParticleSet& particles, const Grid<D>& grid, const CellWindow<D>& window, Index* starts,
                   Workspace& workspace) {
  const T* const x = particle_positions<T, D>(particles);
  const Index n = particles.size();
  const Index bad = first_not_finite(x, n * D);
  require(bad == n * D, "positions must be finite, but component ", bad % D, " of particle ", bad / D, " is not");
  require_in_window<D>(particles, grid, window);
  const auto cells = workspace.take<Index>(n);
  const auto* ids = reinterpret_cast<const Index*>(particles.ids().data.data());
  if (!find_cells<T, D>(grid, window, x, ids, n, cells.data())) {
    particles.sort_by_cell(grid, workspace);
    find_cells<T, D>(grid, window, x, ids, n, cells.data());
  }
  set_starts(cells.data(), n, product<D>(window.shape), starts);
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void order_by_cell<T, D>(ParticleSet&, const Grid<D>&, const CellWindow<D>&, Index*, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
