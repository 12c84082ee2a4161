/// Scatter from particles to the samples around them, in parallel and always in the same order (included by kernels only).
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/ghost_particles.hpp"

namespace meniscus::grid {

/// Width of a tile, whose particles one task adds: rows of cells along each axis but the last.
inline constexpr Index tile_rows = 4;

/// The particles of a block, and ghost particles in one layer of cells around it: the first in each cell, and their number.
template <int D>
struct ScatteredCells {
  CellWindow<D> own, window;
  const Index* starts;
  const Index* ghost_starts;

  /// Calls body(whether they are ghosts, begin, end) for the runs of particles in a row of the window, in the order of the cells.
  template <class Body>
  void in_row(Index i, Index j, Body&& body) const {
    const Index length = window.shape[D - 1];
    const auto row_of = [&](const CellWindow<D>& w) {
      return (D == 3 ? (i - w.begin[0]) * w.shape[1] + j - w.begin[1] : i - w.begin[0]) * w.shape[D - 1];
    };
    const Index row = row_of(window);
    const bool has_own = i >= own.begin[0] && i < own.begin[0] + own.shape[0] &&
                         (D == 2 || (j >= own.begin[1] && j < own.begin[1] + own.shape[1]));
    if (!has_own) {
      body(true, ghost_starts[row], ghost_starts[row + length]);
      return;
    }
    const Index before = own.begin[D - 1] - window.begin[D - 1], own_row = row_of(own);
    if (before > 0) body(true, ghost_starts[row], ghost_starts[row + before]);
    body(false, starts[own_row], starts[own_row + own.shape[D - 1]]);
    const Index after = before + own.shape[D - 1];
    if (after < length) body(true, ghost_starts[row + after], ghost_starts[row + length]);
  }
};

/// Calls body(whether they are ghosts, begin, end) for the runs of particles in all rows of cells. Particles reach one sample
/// beyond their cells, so tiles of the same colour (every other one along each axis) share no sample and are done in parallel,
/// colour after colour. Tiles are those of the domain, so the order of additions at a sample depends on the domain alone.
template <int D, class Body>
void for_each_run_of_tiles(const ScatteredCells<D>& cells, Body&& body) {
  static_assert(D == 2 || D == 3);
  const CellWindow<D>& window = cells.window;
  const Index begin0 = window.begin[0], end0 = begin0 + window.shape[0];
  const Index begin1 = D == 3 ? window.begin[1] : 0, end1 = D == 3 ? begin1 + window.shape[1] : 1;
  for (Index color = 0; color < 4; ++color) {
    // The first tile of the colour that is not below the window, and how many there are up to its end.
    const auto first_tile = [](Index at, Index parity) { return at / tile_rows + ((at / tile_rows ^ parity) & 1); };
    const auto tiles = [](Index first, Index end) {
      return std::max<Index>(0, ((end + tile_rows - 1) / tile_rows - first + 1) / 2);
    };
    const Index first0 = first_tile(begin0, color >> 1), first1 = first_tile(begin1, color & 1);
    const Index count0 = tiles(first0, end0), count1 = tiles(first1, end1);
    parallel_for(0, count0 * count1, 1, [&](Index begin, Index end) {
      simd_dispatch([&] {
        for (Index t = begin; t < end; ++t) {
          const Index i0 = (first0 + 2 * (t / count1)) * tile_rows;
          const Index j0 = (first1 + 2 * (t % count1)) * tile_rows;
          for (Index i = std::max(i0, begin0); i < std::min(i0 + tile_rows, end0); ++i)
            for (Index j = std::max(j0, begin1); j < std::min(j0 + tile_rows, end1); ++j) cells.in_row(i, j, body);
        }
      });
    });
  }
}

template <class T>
void set_zero(T* values, Index n) {
  parallel_for(0, n, 1 << 15, [&](Index begin, Index end) { std::fill(values + begin, values + end, T(0)); });
}

/// Adds the sums in one layer of a padded block, of `width` values per sample, to a layer of the block across the side where a
/// periodic axis closes, which is another block.
template <int width, class T, int D>
void add_across_seam(const FieldLayout<D>& layout, T* first, int axis, int upper, Index sent, Index received, bool sends,
                     bool replace) {
  const Coord<D> padded = layout.padded();
  const Index a = axis;
  const Index inner = c_strides<D>(padded)[a] * width;
  const Index outer = product<D>(padded) * width / (padded[a] * inner);
  const std::size_t bytes = static_cast<std::size_t>(outer * inner) * sizeof(T);
  std::byte* buffer = layout.grid.communicator()->buffer(bytes);
  auto* values = reinterpret_cast<T*>(buffer);
  const auto plane = [&](Index o, Index i) { return first + (o * padded[a] + ghost_width + i) * inner; };
  const parallel::Message message{layout.grid.block().neighbour[2 * a + static_cast<std::size_t>(upper)], axis, buffer, bytes};
  if (sends) {
    for (Index o = 0; o < outer; ++o) std::copy_n(plane(o, sent), inner, values + o * inner);
    layout.grid.communicator()->exchange({&message, 1}, {});
    return;
  }
  layout.grid.communicator()->exchange({}, {&message, 1});
  for (Index o = 0; o < outer; ++o) {
    const T* from = values + o * inner;
    T* to = plane(o, received);
    for (Index k = 0; k < inner; ++k) to[k] = replace ? from[k] : to[k] + from[k];
  }
}

/// Around a periodic axis that is cut: the blocks at its two ends exchange sums.
template <int width, class T, int D>
void fold_between_blocks(const FieldLayout<D>& layout, T* first, int axis) {
  const Index a = axis;
  const Index n = layout.grid.local_shape()[a];
  const bool lowest = layout.grid.first_cell()[a] == 0;
  const bool highest = layout.grid.first_cell()[a] + n == layout.grid.shape()[a];
  if (!lowest && !highest) return;
  const int upper = highest ? 1 : 0;
  // Samples beyond the upper end belong to the first layer.
  const auto up = [&](bool replace, Index from, Index to) {
    add_across_seam<width, T, D>(layout, first, axis, upper, from, to, highest, replace);
  };
  const auto down = [&](bool replace, Index from, Index to) {
    add_across_seam<width, T, D>(layout, first, axis, upper, from, to, lowest, replace);
  };
  if (layout.stagger.on_side[a]) {
    // The first and the last sample are one unknown.
    up(false, n, 0);
    down(true, 0, n);
  } else {
    down(false, -1, n - 1);
    up(false, n, 0);
  }
}

/// On periodic axes, adds the samples beyond a side of a padded block (`width` values per sample)
/// to the samples of which they are images.
template <int width, class T, int D>
void fold_periodic(const FieldLayout<D>& layout, T* first) {
  const Coord<D> padded = layout.padded();
  const Coord<D> strides = c_strides<D>(padded);
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    if (!layout.grid.periodic()[axis]) continue;
    if (layout.grid.block().cut(d)) {
      fold_between_blocks<width, T, D>(layout, first, d);
      continue;
    }
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
