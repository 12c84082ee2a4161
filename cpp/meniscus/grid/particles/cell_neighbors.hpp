/// Neighbour search: particles, and their images at the sides of the domain, within some cells of a cell (for kernels only).
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/grid/particles/cell_images.hpp"

namespace meniscus::grid {

/// Largest range of a search in one direction, in cells.
inline constexpr Index max_reach = 16;

/// The cells of a block, and `layers` more along the axes that are cut, around periodic ones too: where neighbours are searched.
template <int D>
class SearchWindow {
 public:
  SearchWindow(const Grid<D>& grid, Index layers)
      : begin_(grid.first_cell()), shape_(grid.local_shape()), block_begin_(begin_), block_shape_(shape_), cells_(grid.shape()) {
    for (int axis = 0; axis < D; ++axis) {
      const Index d = axis;
      if (!grid.block().cut(axis)) continue;
      around_[d] = grid.periodic()[d];
      if (around_[d] && shape_[d] + 2 * layers >= cells_[d]) {
        shape_[d] = cells_[d];
      } else if (around_[d]) {
        begin_[d] -= layers;
        shape_[d] += 2 * layers;
      } else {
        const Index end = std::min(begin_[d] + shape_[d] + layers, cells_[d]);
        begin_[d] = std::max<Index>(begin_[d] - layers, 0);
        shape_[d] = end - begin_[d];
      }
    }
  }

  /// Cells per axis.
  const Coord<D>& shape() const { return shape_; }
  /// The cell of the domain, or an image of it, at a place along an axis.
  Index cell(int axis, Index place) const { return begin_[axis] + place; }
  /// The place of a cell of the domain along an axis, or -1.
  Index place(int axis, Index cell) const {
    const Index d = axis;
    Index i = cell - begin_[d];
    if (around_[d]) i = parallel::image_in_period(i, cells_[d]);
    return i >= 0 && i < shape_[d] ? i : -1;
  }
  /// Layers by which a place along an axis lies beyond the block, on the side where that is less.
  Index layers_beyond(int axis, Index place) const {
    const Index d = axis;
    const auto beyond = [&](Index c) {
      return std::max({Index{0}, block_begin_[d] - c, c - (block_begin_[d] + block_shape_[d]) + 1});
    };
    const Index c = cell(axis, place);
    return around_[d] ? std::min({beyond(c), beyond(c - cells_[d]), beyond(c + cells_[d])}) : beyond(c);
  }
  /// Linear index of a cell of the domain that is in the window.
  Index index(const Coord<D>& cell) const {
    Index i = 0;
    for (int d = 0; d < D; ++d) i = i * shape_[d] + place(d, cell[d]);
    return i;
  }

 private:
  Coord<D> begin_, shape_, block_begin_, block_shape_, cells_;
  std::array<bool, D> around_{};
};

/// Positions of particles in cells from the lower corner of the domain, (n, D), in the order of the cells of the window, each of
/// them inside of its cell.
template <int D>
struct CellParticles {
  const Grid<D>* grid;
  const SearchWindow<D>* window;
  const Index* starts;
  const double* positions;
};

/// Calls body(i, x, scale) for the particles and images in the cells whose offset from `cell` is at most `reach` along each axis
/// and at least `from` along one, all of which are in the window; x is where the particle, or its image, is, and scale is -1
/// along axes that are mirrored, else 1.
template <int D, class Body>
MENISCUS_INLINE void for_each_neighbor(const CellParticles<D>& particles, const Coord<D>& cell, Index from, Index reach,
                                       Body&& body) {
  static_assert(D == 2 || D == 3);
  const Grid<D>& grid = *particles.grid;
  const SearchWindow<D>& window = *particles.window;
  const Coord<D>& n = window.shape();
  std::array<std::array<CellImage, 2 * max_reach + 1>, D> images;
  for (std::size_t d = 0; d < D; ++d)
    for (Index o = -reach; o <= reach; ++o) {
      CellImage& image = images[d][o + reach];
      image = mirrored_cell(grid, static_cast<int>(d), cell[d] + o);
      image.cell = window.place(static_cast<int>(d), image.cell);
    }
  // Whether the cells of a row follow each other, in the domain and in the window.
  const Index middle = window.place(D - 1, cell[D - 1]);
  const bool inside =
      cell[D - 1] >= reach && cell[D - 1] + reach < grid.shape()[D - 1] && middle >= reach && middle + reach < n[D - 1];
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
      const Index key = first + middle;
      run(particles.starts[key - reach], particles.starts[key + reach + 1], last[reach]);
      return;
    }
    for (Index o = -reach; o <= reach; ++o) {
      if (!outer && o > -from && o < from) {
        o = from - 1;  // the cells between were visited before
        continue;
      }
      const CellImage& i2 = last[o + reach];
      const Index key = first + i2.cell;
      run(particles.starts[key], particles.starts[key + 1], i2);
    }
  };
  const auto far = [&](Index o) { return o <= -from || o >= from; };
  for (Index a = -reach; a <= reach; ++a) {
    const CellImage& i0 = images[0][a + reach];
    if constexpr (D == 2) {
      row(i0, nullptr, far(a));
    } else {
      for (Index b = -reach; b <= reach; ++b) row(i0, &images[1][b + reach], far(a) || far(b));
    }
  }
}

}  // namespace meniscus::grid
