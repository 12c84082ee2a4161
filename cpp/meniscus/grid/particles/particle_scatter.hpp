/// Scatter from particles to the samples around them, in parallel and always in the same order (included by kernels only).
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Width of a tile, whose particles one task adds: rows of cells along each axis but the last.
inline constexpr Index tile_rows = 4;

/// Calls body(begin, end) for the runs of particles in all rows of cells. Particles reach one sample beyond their cells, so tiles
/// of the same colour (every other one along each axis) share no sample. Tiles of one colour are processed in parallel, colour
/// after colour, so the order of additions at a sample depends on the grid alone.
template <int D, class Body>
void for_each_run_of_tiles(const Grid<D>& grid, const Index* starts, Body&& body) {
  static_assert(D == 2 || D == 3);
  const Coord<D>& n = grid.shape();
  const Index length = n[D - 1];
  const Index rows1 = D == 3 ? n[1] : 1;
  const Index tiles0 = (n[0] + tile_rows - 1) / tile_rows;
  const Index tiles1 = (rows1 + tile_rows - 1) / tile_rows;
  for (Index color = 0; color < 4; ++color) {
    const Index first0 = color >> 1;
    const Index first1 = color & 1;
    const Index count0 = (tiles0 - first0 + 1) / 2;
    const Index count1 = (tiles1 - first1 + 1) / 2;
    parallel_for(0, count0 * count1, 1, [&](Index begin, Index end) {
      simd_dispatch([&] {
        for (Index t = begin; t < end; ++t) {
          const Index i0 = (first0 + 2 * (t / count1)) * tile_rows;
          const Index j0 = (first1 + 2 * (t % count1)) * tile_rows;
          for (Index i = i0; i < std::min(i0 + tile_rows, n[0]); ++i)
            for (Index j = j0; j < std::min(j0 + tile_rows, rows1); ++j) {
              const Index row = (i * rows1 + j) * length;
              body(starts[row], starts[row + length]);
            }
        }
      });
    });
  }
}

template <class T>
void set_zero(T* values, Index n) {
  parallel_for(0, n, 1 << 15, [&](Index begin, Index end) { std::fill(values + begin, values + end, T(0)); });
}

/// On periodic axes, adds the samples beyond a side of a padded block (`width` values per sample) to the samples of which they
/// are images.
template <int width, class T, int D>
void fold_periodic(const FieldLayout<D>& layout, T* first) {
  const Coord<D> padded = layout.padded();
  const Coord<D> strides = c_strides<D>(padded);
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    if (!layout.grid.periodic()[axis]) continue;
    const Index n = layout.grid.shape()[axis];
    const Index inner = strides[axis];
    const Index outer = product<D>(padded) / (padded[axis] * inner);
    const auto plane = [&](Index o, Index i) { return first + width * ((o * padded[axis] + ghost_width + i) * inner); };
    const auto add = [&](Index from, Index to) {
      for (Index o = 0; o < outer; ++o) {
        const T* s = plane(o, from);
        T* t = plane(o, to);
        for (Index k = 0; k < width * inner; ++k) t[k] += s[k];
      }
    };
    if (layout.stagger.on_side[axis]) {
      // The first and the last sample are one unknown.
      add(n, 0);
      for (Index o = 0; o < outer; ++o) std::copy_n(plane(o, 0), width * inner, plane(o, n));
    } else {
      add(-1, n - 1);
      add(n, 0);
    }
  }
}

}  // namespace meniscus::grid
