#include "meniscus/coupling/shell_water/particle_counts.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/multilinear_stencil.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::coupling {

namespace {

/// Cells this many cells from a wall, or less, may not see all around them; and points so far away are around them.
constexpr Index counted_cells = 1, counted_points = 2;
/// Points a cell, along each axis, that measure what it sees.
template <int D>
constexpr Index lattice = D == 2 ? 4 : 2;
/// A cell that sees less of what is around it has no density of its own.
constexpr double least_seen = 0.25;

/// What points tell the cells whose centres are around them.
template <int D>
class SeenCenters {
 public:
  using Point = Vec<double, D>;
  using Stencil = grid::MultilinearStencil<double, D>;

  explicit SeenCenters(const grid::ThinWalls<D>& walls) : walls_(walls), strides_(c_strides<D>(walls.grid().shape())) {}

  /// Which centres a wall hides, a bit each.
  std::uint32_t hidden(const Point& x) const {
    if (walls_.clearance(x) > 0) return 0;
    const Stencil around = stencil(x);
    std::array<Point, Stencil::corners> centers;
    for (int q = 0; q < Stencil::corners; ++q)
      centers[q] = grid::sample_position<D>(walls_.grid(), grid::Stagger<D>::cell(), around.sample(q));
    return walls_.hidden(x, centers.data(), Stencil::corners, nullptr);
  }

  /// Adds the weights of a point to the sums of the cells that it sees.
  void add(const Point& x, std::uint32_t hidden, double* sums) const {
    const Stencil around = stencil(x);
    for (int q = 0; q < Stencil::corners; ++q) {
      if ((hidden >> q) & 1u) continue;
      Coord<D> c = around.sample(q);
      for (int d = 0; d < D; ++d) {
        const Index a = d;
        c[a] = grid::image_of_sample<D>(walls_.grid(), grid::Stagger<D>::cell(), d, c[a]);
      }
      sums[dot<D>(c, strides_)] += around.weight(q);
    }
  }

 private:
  Stencil stencil(const Point& x) const {
    return Stencil::inside(walls_.grid(), grid::locate_in_domain(walls_.grid(), x.data()), grid::Stagger<D>::cell());
  }

  const grid::ThinWalls<D>& walls_;
  Coord<D> strides_;
};

/// Point k of the lattice of a cell.
template <int D>
Vec<double, D> lattice_point(const grid::Grid<D>& grid, Coord<D> cell, Index k) {
  Vec<double, D> x;
  for (int d = D - 1; d >= 0; --d, k /= lattice<D>) {
    const auto part = (static_cast<double>(k % lattice<D>) + 0.5) / static_cast<double>(lattice<D>);
    x[d] = grid.origin()[d] + grid.spacing() * (static_cast<double>(cell[d]) + part);
  }
  return x;
}

template <int D>
Coord<D> cell_of_number(const grid::Grid<D>& grid, Index number) {
  Coord<D> c;
  for (std::size_t d = D; d-- > 0; number /= grid.shape()[d]) c[d] = number % grid.shape()[d];
  return c;
}

}  // namespace

template <class T, int D>
void particle_density_past_walls(grid::ParticleSet& particles, grid::Field<T, D>& density, const grid::ThinWalls<D>& walls,
                                 double full, Workspace& workspace) {
  const grid::Grid<D>& grid = density.grid();
  require(grid == walls.grid(), "the walls must have the grid of the density");
  const SeenCenters<D> centers(walls);
  const Index n = particles.size(), cells = product<D>(grid.shape());
  const T* const positions = grid::particle_positions<T, D>(particles);
  const auto place = [&](Index i) {
    Vec<double, D> x;
    for (int d = 0; d < D; ++d) x[d] = static_cast<double>(positions[i * D + d]);
    return x;
  };
  const auto hidden = workspace.take<std::uint32_t>(n);
  parallel_for(0, n, 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) hidden.data()[i] = centers.hidden(place(i));
  });
  const auto sums = workspace.take<double>(cells), seen = workspace.take<double>(cells);
  std::fill_n(sums.data(), cells, 0.0);
  std::fill_n(seen.data(), cells, 0.0);
  // In the order of the particles, which is that of their cells.
  for (Index i = 0; i < n; ++i) {
    const Vec<double, D> x = place(i);
    if (static_cast<Index>(walls.clearance(x)) <= counted_points) centers.add(x, hidden.data()[i], sums.data());
  }
  Index points = 1;
  for (int d = 0; d < D; ++d) points *= lattice<D>;
  const auto near = workspace.take<Index>(cells);
  Index count = 0;
  for (Index c = 0; c < cells; ++c)
    if (static_cast<Index>(walls.clearance()[c]) <= counted_points) near.data()[count++] = c;
  const auto hidden_points = workspace.take<std::uint32_t>(count * points);
  parallel_for(0, count * points, 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      hidden_points.data()[i] =
          centers.hidden(lattice_point<D>(grid, cell_of_number<D>(grid, near.data()[i / points]), i % points));
  });
  for (Index i = 0; i < count * points; ++i)
    centers.add(lattice_point<D>(grid, cell_of_number<D>(grid, near.data()[i / points]), i % points), hidden_points.data()[i],
                seen.data());
  const grid::FieldView<T, D> to = density.view();
  for (Index i = 0; i < count; ++i) {
    const Index c = near.data()[i];
    if (static_cast<Index>(walls.clearance()[c]) > counted_cells) continue;
    const double part = seen.data()[c] / static_cast<double>(points);
    *to.at(cell_of_number<D>(grid, c)) = static_cast<T>(part < least_seen ? full : sums.data()[c] / part);
  }
}

template <int D>
void home_cells(const grid::ThinWalls<D>& walls, std::span<const Vec<double, D>> points, std::span<Index> out) {
  constexpr int around = grid::block_cells<D>;
  const grid::Grid<D>& grid = walls.grid();
  parallel_for(0, static_cast<Index>(points.size()), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Vec<double, D>& x = points[i];
      std::array<Vec<double, D>, around> centers;
      std::array<Index, around> numbers;
      Index own = 0;
      for (int k = 0; k < around; ++k) {
        const Coord<D> offset = grid::block_offset<D>(k);
        Index number = 0;
        for (int d = 0; d < D; ++d) {
          const Index cells = grid.shape()[d];
          const double at = std::floor((x[d] - grid.origin()[d]) / grid.spacing());
          const auto cell = static_cast<Index>(std::clamp(at, 0.0, static_cast<double>(cells - 1))) + offset[d];
          centers[k][d] = grid.origin()[d] + grid.spacing() * (static_cast<double>(cell) + 0.5);
          const Index image = grid::image_of_cell<D>(grid, d, cell);
          number = number < 0 || image < 0 ? -1 : number * cells + image;
        }
        numbers[k] = number;
        if (k == around / 2) own = number;
      }
      out[i] = own;
      if (walls.clearance(x) > 0) continue;
      const std::uint32_t hidden = walls.hidden(x, centers.data(), around, nullptr);
      if (!((hidden >> (around / 2)) & 1u)) continue;
      out[i] = -1;
      double nearest = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < around; ++k) {
        const double r = (centers[k] - x).norm();
        if (((hidden >> k) & 1u) || numbers[k] < 0 || !(r < nearest)) continue;
        nearest = r;
        out[i] = numbers[k];
      }
    }
  });
}

template void home_cells<2>(const grid::ThinWalls<2>&, std::span<const Vec<double, 2>>, std::span<Index>);
template void home_cells<3>(const grid::ThinWalls<3>&, std::span<const Vec<double, 3>>, std::span<Index>);
#define MENISCUS_INSTANTIATE(T, D)                                                                                           \
  template void particle_density_past_walls<T, D>(grid::ParticleSet&, grid::Field<T, D>&, const grid::ThinWalls<D>&, double, \
                                                  Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
