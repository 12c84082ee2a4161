/// Neighbour search: particles, and their images at the sides of the domain, within some cells of a cell (for kernels only).
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/grid/particles/cell_images.hpp"

namespace meniscus::grid {

/// Largest range of a search in one direction, in cells.
inline constexpr Index max_reach = 16;

/// Positions of particles in cells from the lower corner of the domain, (n, D), in the order of their cells, each of them inside
/// of its cell.
template <int D>
struct CellParticles {
  const Grid<D>* grid;
  const Index* starts;
  const double* positions;
};

/// Calls body(i, x, scale) for the particles and images in the cells whose offset from `cell` is at most `reach` along each axis
/// and at least `from` along one; x is where the particle, or its image, is, and scale is -1 along axes that are mirrored,
/// else 1.
template <int D, class Body>
MENISCUS_INLINE void for_each_neighbor(const CellParticles<D>& particles, const Coord<D>& cell, Index from, Index reach,
                                       Body&& body) {
  static_assert(D == 2 || D == 3);
  const Grid<D>& grid = *particles.grid;
  const Coord<D>& n = grid.shape();
  std::array<std::array<CellImage, 2 * max_reach + 1>, D> images;
  for (std::size_t d = 0; d < D; ++d)
    for (Index o = -reach; o <= reach; ++o)
      images[d][static_cast<std::size_t>(o + reach)] = mirrored_cell(grid, static_cast<int>(d), cell[d] + o);
  const bool inside = cell[D - 1] >= reach && cell[D - 1] + reach < n[D - 1];
  const auto row = [&](const CellImage& i0, const CellImage* i1, bool outer) {
    const Index first = (i1 ? i0.cell * n[D == 3 ? 1 : 0] + i1->cell : i0.cell) * n[D - 1];
    const auto& last = images[D - 1];
    const auto run = [&](Index begin, Index end, const CellImage& i2) {
      std::array<double, D> scale;
      scale[0] = i0.scale;
      if constexpr (D == 3) scale[1] = i1->scale;
      scale[D - 1] = i2.scale;
      for (Index i = begin; i < end; ++i) {
        const double* p = particles.positions + i * D;
        std::array<double, D> x;
        x[0] = i0.scale * p[0] + i0.shift;
        if constexpr (D == 3) x[1] = i1->scale * p[1] + i1->shift;
        x[D - 1] = i2.scale * p[D - 1] + i2.shift;
        body(i, x, scale);
      }
    };
    if (outer && inside) {
      // The cells of the row are consecutive.
      const Index key = first + cell[D - 1];
      run(particles.starts[key - reach], particles.starts[key + reach + 1], last[static_cast<std::size_t>(reach)]);
      return;
    }
    for (Index o = -reach; o <= reach; ++o) {
      if (!outer && o > -from && o < from) {
        o = from - 1;  // the cells between were visited before
        continue;
      }
      const CellImage& i2 = last[static_cast<std::size_t>(o + reach)];
      const Index key = first + i2.cell;
      run(particles.starts[key], particles.starts[key + 1], i2);
    }
  };
  const auto far = [&](Index o) { return o <= -from || o >= from; };
  for (Index a = -reach; a <= reach; ++a) {
    const CellImage& i0 = images[0][static_cast<std::size_t>(a + reach)];
    if constexpr (D == 2) {
      row(i0, nullptr, far(a));
    } else {
      for (Index b = -reach; b <= reach; ++b) row(i0, &images[1][static_cast<std::size_t>(b + reach)], far(a) || far(b));
    }
  }
}

}  // namespace meniscus::grid
