#include "meniscus/fluids/particle_cells.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>

namespace meniscus {
namespace {

constexpr Index particles_per_piece = 8192;

template <class T, int D>
Index cell_index(const Grid<D>& grid, const T* x) {
  const CellPlace<D> place(grid, x);
  Index i = 0;
  for (std::size_t d = 0; d < D; ++d) i = i * grid.shape()[d] + place.cell[d];
  return i;
}

template <class T, int D>
bool in_order(const Grid<D>& grid, const T* positions, Index n) {
  return parallel_reduce(
      Index{1}, n, particles_per_piece, true,
      [&](Index begin, Index end) {
        Index before = cell_index<T, D>(grid, positions + (begin - 1) * D);
        for (Index i = begin; i < end; ++i) {
          const Index cell = cell_index<T, D>(grid, positions + i * D);
          if (cell < before) return false;
          before = cell;
        }
        return true;
      },
      [](bool a, bool b) { return a && b; });
}

/// Between two particles that follow each other start all cells after that of the first, up to that of the second.
template <class T, int D>
void set_starts(const Grid<D>& grid, const T* positions, Index n, Index* starts) {
  const Index cells = product<D>(grid.shape());
  if (n == 0) std::fill_n(starts, cells + 1, Index{0});
  parallel_for(0, n, particles_per_piece, [&](Index begin, Index end) {
    Index before = begin == 0 ? -1 : cell_index<T, D>(grid, positions + (begin - 1) * D);
    for (Index i = begin; i < end; ++i) {
      const Index cell = cell_index<T, D>(grid, positions + i * D);
      for (Index c = before + 1; c <= cell; ++c) starts[c] = i;
      before = cell;
    }
    if (end == n)
      for (Index c = before + 1; c <= cells; ++c) starts[c] = n;
  });
}

}  // namespace

template <class T, int D>
void order_by_cell(ParticleSet& particles, const Grid<D>& grid, Index* starts, Workspace& workspace) {
  const T* const x = particle_positions<T, D>(particles);
  const Index n = particles.size();
  const Index bad = parallel_reduce(
      Index{0}, n * D, 4 * particles_per_piece, n * D,
      [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i)
          if (!std::isfinite(x[i])) return i;
        return n * D;
      },
      [](Index a, Index b) { return std::min(a, b); });
  require(bad == n * D, "positions must be finite, but component ", bad % D, " of particle ", bad / D, " is not");
  if (!in_order<T, D>(grid, x, n)) particles.sort_by_cell(grid, workspace);
  set_starts<T, D>(grid, x, n, starts);
}

template <class T, int D>
T* particle_positions(ParticleSet& particles) {
  if (particles.dimension() != D || particles.positions().type != column_type_of<T>)
    throw WrongType("the particles must have the dimension and the scalar type of the fields");
  return reinterpret_cast<T*>(particles.positions().data.data());
}

template <class T>
T* particle_values(ParticleSet& particles, std::string_view name, Index width) {
  ParticleColumn& c = particles.column(name);
  if (c.type != column_type_of<T> || c.width != width)
    throw WrongType("column '" + c.name + "' must have " + std::to_string(width) +
                    " values per particle, of the type of the positions");
  return reinterpret_cast<T*>(c.data.data());
}

template <class T>
T* optional_particle_values(ParticleSet& particles, std::string_view name, Index width) {
  const auto& all = particles.columns();
  const bool exists = std::any_of(all.begin(), all.end(), [&](const ParticleColumn& c) { return c.name == name; });
  return exists ? particle_values<T>(particles, name, width) : nullptr;
}

#define MENISCUS_INSTANTIATE(T, D)                                                     \
  template void order_by_cell<T, D>(ParticleSet&, const Grid<D>&, Index*, Workspace&); \
  template T* particle_positions<T, D>(ParticleSet&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE
template float* particle_values<float>(ParticleSet&, std::string_view, Index);
template double* particle_values<double>(ParticleSet&, std::string_view, Index);
template float* optional_particle_values<float>(ParticleSet&, std::string_view, Index);
template double* optional_particle_values<double>(ParticleSet&, std::string_view, Index);

}  // namespace meniscus
