#include "meniscus/fluids/particles/surface/density_surface.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

/// Integrals of the hat function around the centre of a cell over that cell, and over the one before or behind it.
constexpr double middle_part = 0.75, outer_part = 0.125;

/// What is left of the space around a cell is not taken for less than this.
constexpr double least_open_space = 0.1;

/// Adds the hats of the particles in the cells around a row to `sums`, for a range of its cells; `row`: its first cell.
template <int D>
void sum_hats_of_row(const grid::CellParticles<D>& particles, const Coord<D>& row, const CellRange& range, double* sums) {
  constexpr std::size_t last = D - 1;
  constexpr int rows = D == 3 ? 9 : 3;
  const grid::Grid<D>& grid = *particles.grid;
  const grid::SearchWindow<D>& window = *particles.window;
  for (int k = 0; k < rows; ++k) {
    std::array<grid::CellImage, D> image;
    Index first = 0;
    for (std::size_t d = 0; d < last; ++d) {
      const Index offset = (d == 0 ? k / (rows / 3) : k % 3) - 1;
      image[d] = grid::mirrored_cell(grid, static_cast<int>(d), row[d] + offset);
      image[d].shift -= static_cast<double>(row[d]) + 0.5;
      first = first * window.shape()[d] + window.place(static_cast<int>(d), image[d].cell);
    }
    for (Index c = range.begin - 1; c <= range.end; ++c) {
      grid::CellImage& along = image[last] = grid::mirrored_cell(grid, D - 1, row[last] + c);
      along.shift -= static_cast<double>(row[last] + c) + 0.5;
      const Index key = first * window.shape()[last] + window.place(D - 1, along.cell);
      for (Index i = particles.starts[key]; i < particles.starts[key + 1]; ++i) {
        double weight = 1.0;
        std::array<double, D> r;
        for (std::size_t d = 0; d < D; ++d)
          r[d] = image[d].scale * particles.positions[i * D + static_cast<Index>(d)] + image[d].shift;
        for (std::size_t d = 0; d < last; ++d) weight *= std::max(1.0 - std::abs(r[d]), 0.0);
        if (!(weight > 0.0)) continue;
        const double part = std::abs(r[last]);
        const Index next = r[last] < 0.0 ? c - 1 : c + 1;
        if (range.holds(c)) sums[c] += weight * (1.0 - part);
        if (range.holds(next)) sums[next] += weight * part;
      }
    }
  }
}

}  // namespace

double distance_of_density(double density) {
  if (density >= 1.0) return -1.0;
  if (density >= 0.5) return std::sqrt(2.0 * (1.0 - density)) - 1.0;
  return 1.0 - std::sqrt(2.0 * std::max(density, 0.0));
}

template <int D>
void sum_hats(const grid::CellParticles<D>& particles, const BlockCells<D>& cells, const std::uint8_t* wanted, double* sums) {
  const Coord<D>& n = particles.grid->local_shape();
  const Index length = n[D - 1];
  parallel_for(0, product<D>(n) / length, std::max<Index>(1, 1024 / length), [&](Index from, Index to) {
    for (Index r = from; r < to; ++r) {
      Coord<D> row{};
      Index rest = r;
      for (std::size_t d = D - 1; d-- > 0; rest /= n[d]) row[d] = rest % n[d];
      const Index place = cells.place(row);
      const CellRange range = flagged_range(wanted + place, length);
      if (range.empty()) continue;
      std::fill(sums + place + range.begin, sums + place + range.end, 0.0);
      sum_hats_of_row<D>(particles, cells.in_domain(row), range, sums + place);
    }
  });
}

template <int D>
OpenSpace<D>::OpenSpace(const BlockCells<D>& cells, const grid::SearchWindow<D>& window, const grid::Field<double, D>* solid,
                        Workspace& workspace)
    : cells_(cells) {
  if (!solid) return;
  require(solid->stagger() == grid::Stagger<D>::node(), "the level set of the solid must be on nodes");
  open_ = workspace.take<double>(cells.size());
  const auto nodes = solid->view();
  cells.for_each(window, 4096, [&](const Coord<D>& c, Index at, Index) {
    open_.data()[at] = surface::open_part<D>(surface::corner_values<D>(nodes.at(c), nodes.strides));
  });
  cells.exchange(open_.data());
}

template <int D>
double OpenSpace<D>::around(const Coord<D>& cell, Index place, const CellSight<D>& sight) const {
  if (!open_.data() && sight.sees_all()) return 1.0;
  constexpr int around = D == 2 ? 9 : 27;
  double sum = 0.0;
  for (int k = 0; k < around; ++k) {
    Coord<D> offset;
    double weight = 1.0;
    Index at = place;
    int rest = k;
    for (int d = D - 1; d >= 0; --d, rest /= 3) {
      const Index a = d, o = rest % 3 - 1;
      offset[a] = o;
      weight *= o == 0 ? middle_part : outer_part;
      // Beyond a side lies the image of the cell before it.
      const Index next = o == 0 ? at : cells_.neighbour(cell, at, d, o);
      if (next >= 0) at = next;
    }
    if (sight.sees(offset)) sum += open_.data() ? weight * open_.data()[at] : weight;
  }
  return std::max(sum, least_open_space);
}

template <class T, int D>
void divide_by_open_space(grid::Field<T, D>& density, const grid::Field<double, D>& solid, Workspace& workspace) {
  require(density.stagger() == grid::Stagger<D>::cell(), "the density must be at the centres of cells");
  require(solid.grid() == density.grid(), "the level set of the solid must have the grid of the density");
  const BlockCells<D> cells(density.grid());
  const grid::SearchWindow<D> window(density.grid(), 0);
  const OpenSpace<D> space(cells, window, &solid, workspace);
  const auto to = density.view();
  cells.for_each(window, 2048, [&](const Coord<D>& c, Index at, Index) {
    T& count = *to.at(c);
    count = static_cast<T>(static_cast<double>(count) / space.around(c, at, CellSight<D>(nullptr, c, 1)));
  });
}

template void sum_hats<2>(const grid::CellParticles<2>&, const BlockCells<2>&, const std::uint8_t*, double*);
template void sum_hats<3>(const grid::CellParticles<3>&, const BlockCells<3>&, const std::uint8_t*, double*);
template class OpenSpace<2>;
template class OpenSpace<3>;
#define MENISCUS_INSTANTIATE(T, D) \
  template void divide_by_open_space<T, D>(grid::Field<T, D>&, const grid::Field<double, D>&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
