#include "meniscus/fluids/particles/particle_cells.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <limits>

namespace meniscus::fluids {
namespace {

constexpr Index particles_per_piece = 8192;

template <class T, int D>
MENISCUS_INLINE Index cell_index(const grid::Grid<D>& grid, const grid::CellWindow<D>& window, const T* x) {
  return window.index(CellPlace<D>(grid, x).cell);
}

/// Sets the cells of particles (linear indices in the window), and returns whether cells, and in each the ids, ascend.
template <class T, int D>
bool find_cells(const grid::Grid<D>& grid, const T* positions, const Index* ids, Index n, Index* cells) {
  const grid::CellWindow<D> window(grid);
  parallel_for(0, n, particles_per_piece, [&](Index begin, Index end) {
    simd_dispatch([&] {
      for (Index i = begin; i < end; ++i) cells[i] = cell_index<T, D>(grid, window, positions + i * D);
    });
  });
  return parallel_reduce(
      Index{1}, n, particles_per_piece, true,
      [&](Index begin, Index end) {
        bool ascending = true;
        for (Index i = begin; i < end; ++i)
          ascending &= cells[i - 1] < cells[i] || (cells[i - 1] == cells[i] && ids[i - 1] < ids[i]);
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
void order_by_cell(grid::ParticleSet& particles, const grid::Grid<D>& grid, Index* starts, Workspace& workspace) {
  const T* const x = particle_positions<T, D>(particles);
  const Index n = particles.size();
  const Index bad = first_not_finite(x, n * D);
  require(bad == n * D, "positions must be finite, but component ", bad % D, " of particle ", bad / D, " is not");
  const auto cells = workspace.take<Index>(n);
  const auto* ids = reinterpret_cast<const Index*>(particles.ids().data.data());
  if (!find_cells<T, D>(grid, x, ids, n, cells.data())) {
    particles.sort_by_cell(grid, workspace);
    find_cells<T, D>(grid, x, ids, n, cells.data());
  }
  set_starts(cells.data(), n, product<D>(grid::CellWindow<D>(grid).shape), starts);
}

template <class T>
Index first_not_finite(const T* values, Index n) {
  const bool all = parallel_reduce(
      Index{0}, n, 4 * particles_per_piece, true,
      [&](Index begin, Index end) {
        int bad = 0;
        simd_dispatch([&] {
          for (Index i = begin; i < end; ++i) bad |= !(std::abs(values[i]) <= std::numeric_limits<T>::max());
        });
        return bad == 0;
      },
      [](bool x, bool y) { return x && y; });
  return all ? n : std::find_if(values, values + n, [](T x) { return !std::isfinite(x); }) - values;
}

template <class T, int D>
T* particle_positions(grid::ParticleSet& particles) {
  if (particles.dimension() != D || particles.positions().type != column_type_of<T>)
    throw WrongType("the particles must have the dimension and the scalar type of the fields");
  return reinterpret_cast<T*>(particles.positions().data.data());
}

template <class T>
T* particle_values(grid::ParticleSet& particles, std::string_view name, Index width) {
  grid::ParticleColumn& c = particles.column(name);
  if (c.type != column_type_of<T> || c.width != width)
    throw WrongType("column '" + c.name + "' must have " + std::to_string(width) +
                    " values per particle, of the type of the positions");
  return reinterpret_cast<T*>(c.data.data());
}

template <class T>
T* optional_particle_values(grid::ParticleSet& particles, std::string_view name, Index width) {
  const auto& all = particles.columns();
  const bool exists = std::any_of(all.begin(), all.end(), [&](const grid::ParticleColumn& c) { return c.name == name; });
  return exists ? particle_values<T>(particles, name, width) : nullptr;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                 \
  template void order_by_cell<T, D>(grid::ParticleSet&, const grid::Grid<D>&, Index*, Workspace&); \
  template T* particle_positions<T, D>(grid::ParticleSet&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE
template Index first_not_finite<float>(const float*, Index);
template Index first_not_finite<double>(const double*, Index);
template float* particle_values<float>(grid::ParticleSet&, std::string_view, Index);
template double* particle_values<double>(grid::ParticleSet&, std::string_view, Index);
template float* optional_particle_values<float>(grid::ParticleSet&, std::string_view, Index);
template double* optional_particle_values<double>(grid::ParticleSet&, std::string_view, Index);

}  // namespace meniscus::fluids
