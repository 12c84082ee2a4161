/// Labels of cells that hold liquid which their centres do not see: films between the surface and a solid.
#pragma once

#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/surface/extraction/open_cubes.hpp"

#include <algorithm>
#include <vector>

namespace meniscus::surface {

/// Less, in cells, has no label of its own.
inline constexpr double least_film = 1e-3;

/// Collective. `labels`: from 1 to `parts` where the centre is inside; those of films are added. Returns how many parts there
/// are.
template <class T, int D>
Index label_films(const grid::Grid<D>& grid, const OpenCubes<T, D>& cubes, std::int32_t* labels, Index parts) {
  const Coord<D> cells = grid.local_shape();
  const Coord<D> strides = c_strides<D>(cells);
  const Index length = cells[D - 1], rows = product<D>(cells) / length;
  struct Film {
    Index cell;   ///< in the block
    Index place;  ///< in the domain
    std::int32_t label;
  };
  const Index chunk = std::max<Index>(1, (rows + 63) / 64);
  std::vector<std::vector<Film>> found((rows + chunk - 1) / chunk);
  const grid::BlockWindow<std::int32_t, D> window(grid, labels, 1);
  /// The lowest label around a cell that no wall parts from it.
  const auto label_beside = [&](const Coord<D>& c) {
    std::int32_t label = 0;
    const double* const lowest = cubes.nodes().at(c);
    for (int q = 0; q < grid::block_cells<D>; ++q) {
      const Coord<D> offset = grid::block_offset<D>(q);
      Coord<D> beside;
      bool there = true;
      for (int d = 0; d < D; ++d) {
        const Index a = d;
        there &= grid::in_domain<D>(grid, d, c[a] + offset[a]);
        beside[a] = grid::nearest_in_domain<D>(grid, d, c[a] + offset[a]);
      }
      if (!there) continue;
      const std::int32_t other = window.at(beside);
      if (other == 0 || (label != 0 && other >= label)) continue;
      if (grid::share_positive_corner<D>(lowest, cubes.nodes().strides, offset)) label = other;
    }
    return label;
  };
  parallel_for(0, rows, chunk, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> first = grid::row_start<D>(cells, r);
      for (Index w = 0; 64 * w < length; ++w)
        for_each_bit(cubes.cut(first, w), [&](int bit) {
          Coord<D> c = first;
          c[D - 1] = 64 * w + bit;
          const Index i = dot<D>(c, strides);
          if (labels[i] == 0 && cubes.liquid_in(c) > least_film)
            found[begin / chunk].push_back({i, grid::domain_index<D>(grid, c), label_beside(c)});
        });
    }
  });
  std::vector<Index> alone;
  for (const auto& films : found)
    for (const Film& f : films)
      if (f.label == 0) alone.push_back(f.place);
  alone = parallel::gather_lists(*grid.communicator(), alone);
  std::sort(alone.begin(), alone.end());
  for (const auto& films : found)
    for (const Film& f : films) {
      const Index number = parts + 1 + (std::lower_bound(alone.begin(), alone.end(), f.place) - alone.begin());
      labels[f.cell] = f.label != 0 ? f.label : static_cast<std::int32_t>(number);
    }
  return parts + static_cast<Index>(alone.size());
}

}  // namespace meniscus::surface
