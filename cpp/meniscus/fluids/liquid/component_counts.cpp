#include "meniscus/fluids/liquid/component_counts.hpp"

#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <algorithm>

namespace meniscus::fluids {

void count_component_cells(const std::int32_t* labels, Index n, std::span<Index> cells, std::span<Index> first) {
  std::fill(cells.begin(), cells.end(), Index{0});
  std::fill(first.begin(), first.end(), n);
  for (Index i = 0; i < n; ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    if (cells[label]++ == 0) first[label] = i;
  }
}

template <class T, int D>
void count_component_particles(grid::ParticleSet& particles, const grid::Grid<D>& grid, const std::int32_t* labels,
                               std::span<Index> counts) {
  grid::require_one_block(grid, "counting the particles of parts");
  const T* const x = grid::particle_positions<T, D>(particles);
  const Coord<D> strides = c_strides<D>(grid.shape());
  std::fill(counts.begin(), counts.end(), Index{0});
  for (Index i = 0; i < particles.size(); ++i)
    ++counts[static_cast<std::size_t>(labels[dot<D>(grid::locate_in_domain<T, D>(grid, x + i * D).cell, strides)])];
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void count_component_particles<T, D>(grid::ParticleSet&, const grid::Grid<D>&, const std::int32_t*, std::span<Index>);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
