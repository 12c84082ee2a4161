#include "meniscus/fluids/liquid/component_counts.hpp"

#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/parallel/vector_reductions.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>

namespace meniscus::fluids {

template <int D>
void count_component_cells(const grid::Grid<D>& grid, const std::int32_t* labels, std::vector<Index>& cells,
                           std::vector<Index>& first) {
  const Coord<D> strides = c_strides<D>(grid.local_shape());
  std::fill(cells.begin(), cells.end(), Index{0});
  std::fill(first.begin(), first.end(), product<D>(grid.shape()));
  const Index n = product<D>(grid.local_shape());
  for (Index i = 0; i < n; ++i) {
    const Index label = labels[i];
    if (cells[label]++ == 0) first[label] = grid::domain_index<D>(grid, surface::index_of<D>(i, strides));
  }
  parallel::combine_values(*grid.communicator(), cells, [](Index a, Index b) { return a + b; });
  parallel::combine_values(*grid.communicator(), first, [](Index a, Index b) { return std::min(a, b); });
}

template <class T, int D>
void count_component_particles(grid::ParticleSet& particles, const grid::Grid<D>& grid, const std::int32_t* labels,
                               std::vector<Index>& counts) {
  const T* const x = grid::particle_positions<T, D>(particles);
  const Coord<D> strides = c_strides<D>(grid.local_shape());
  std::fill(counts.begin(), counts.end(), Index{0});
  for (Index i = 0; i < particles.size(); ++i) ++counts[labels[dot<D>(grid::cell_in_block<T, D>(grid, x + i * D), strides)]];
  parallel::combine_values(*grid.communicator(), counts, [](Index a, Index b) { return a + b; });
}

template void count_component_cells<2>(const grid::Grid<2>&, const std::int32_t*, std::vector<Index>&, std::vector<Index>&);
template void count_component_cells<3>(const grid::Grid<3>&, const std::int32_t*, std::vector<Index>&, std::vector<Index>&);
#define MENISCUS_INSTANTIATE(T, D)                                                                             \
  template void count_component_particles<T, D>(grid::ParticleSet&, const grid::Grid<D>&, const std::int32_t*, \
                                                std::vector<Index>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
