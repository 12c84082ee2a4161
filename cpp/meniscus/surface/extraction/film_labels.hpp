/// Labels of cells that hold liquid which their centres do not see: films between the surface and a solid or a side of the
/// domain.
#pragma once

#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/extraction/open_cubes.hpp"

#include <algorithm>
#include <vector>

namespace meniscus::surface {

/// Less, in cells, has no label of its own.
inline constexpr double least_film = 1e-3;

/// Cells of word w of the row of cells that begins at `first` whose centres are outside, and whose samples on a side of the
/// domain are not all.
template <class T, int D>
std::uint64_t films_at_sides(const LevelSetLattice<T, D>& lattice, const SignBits<D>& signs, const Coord<D>& first, Index w) {
  constexpr Index count = D == 2 ? 3 : 9;
  const Index length = signs.extents()[D - 1], last = length - 3;
  std::uint64_t own = 0, beside = 0;
  for (Index q = 0; q < count; ++q) {
    Index row = 0, rest = q;
    bool there = true, middle = true;
    for (int d = 0; d < D - 1; ++d, rest /= 3) {
      const Index at = first[d] + rest % 3;
      const bool centre = rest % 3 == 1;
      there &= centre || lattice.at_lower(d, at) || lattice.at_upper(d, at);
      middle &= centre;
      row += at * signs.stride(d);
    }
    if (!there) continue;
    const std::uint64_t cells = signs.next(row, w);
    if (middle)
      own = cells;
    else
      beside |= cells;
    if (w == 0 && lattice.at_lower(D - 1, 0)) beside |= signs.word(row, 0) & 1;
    if (last / 64 == w && lattice.at_upper(D - 1, length - 1))
      beside |= std::uint64_t{signs.inside(row, length - 1)} << (last & 63);
  }
  const Index cells = last + 1 - 64 * w;
  return beside & ~own & (cells >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << cells) - 1);
}

struct LabelledParts {
  Index count = 0;
  bool films = false;  ///< some are films: cells with a common face may have several labels
};

/// Collective. `labels`: from 1 to `parts` where the centre is inside; those of films are added. `signs`: of the lattice.
template <class T, int D>
LabelledParts label_films(const grid::Grid<D>& grid, const LevelSetLattice<T, D>& lattice, const SignBits<D>& signs,
                          const OpenCubes<T, D>& cubes, std::int32_t* labels, Index parts) {
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
    const double* const lowest = cubes.has_solid() ? cubes.nodes().at(c) : nullptr;
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
      if (!lowest || grid::share_positive_corner<D>(lowest, cubes.nodes().strides, offset)) label = other;
    }
    return label;
  };
  parallel_for(0, rows, chunk, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> first = grid::row_start<D>(cells, r);
      for (Index w = 0; 64 * w < length; ++w)
        for_each_bit(cubes.cut(first, w) | films_at_sides<T, D>(lattice, signs, first, w), [&](int bit) {
          Coord<D> c = first;
          c[D - 1] = 64 * w + bit;
          const Index i = dot<D>(c, strides);
          if (labels[i] == 0 && cubes.liquid_in(c) > least_film)
            found[begin / chunk].push_back({i, grid::domain_index<D>(grid, c), label_beside(c)});
        });
    }
  });
  std::vector<Index> alone;
  bool any = false;
  for (const auto& films : found)
    for (const Film& f : films) {
      any = true;
      if (f.label == 0) alone.push_back(f.place);
    }
  alone = parallel::gather_lists(*grid.communicator(), alone);
  std::sort(alone.begin(), alone.end());
  for (const auto& films : found)
    for (const Film& f : films) {
      const Index number = parts + 1 + (std::lower_bound(alone.begin(), alone.end(), f.place) - alone.begin());
      labels[f.cell] = f.label != 0 ? f.label : static_cast<std::int32_t>(number);
    }
  return {parts + static_cast<Index>(alone.size()), parallel::global_any(*grid.communicator(), any)};
}

}  // namespace meniscus::surface
