/// The blocks of a domain: which of them has a cell, and which see it.
#pragma once

#include "meniscus/grid/grid.hpp"

#include <algorithm>
#include <vector>

namespace meniscus::grid {

template <int D>
class BlockMap {
 public:
  /// Collective where the grid is cut: every block tells the others where it is.
  explicit BlockMap(const Grid<D>& grid) : BlockMap(grid, gathered(grid)) {}
  /// From the first cells of all blocks.
  BlockMap(const Grid<D>& grid, const std::vector<Coord<D>>& first_cells) {
    for (std::size_t d = 0; d < D; ++d) {
      for (const Coord<D>& first : first_cells) starts_[d].push_back(first[d]);
      std::sort(starts_[d].begin(), starts_[d].end());
      starts_[d].erase(std::unique(starts_[d].begin(), starts_[d].end()), starts_[d].end());
      place_[d] = place(static_cast<int>(d), grid.first_cell()[d]);
    }
  }

  /// Number of the blocks along an axis.
  Index count(int axis) const { return static_cast<Index>(starts_[axis].size()); }
  /// First cell of block k along an axis.
  Index first(int axis, Index k) const { return starts_[axis][k]; }
  /// The block along an axis that has a cell of the domain.
  Index place(int axis, Index cell) const {
    const std::vector<Index>& s = starts_[axis];
    return std::upper_bound(s.begin(), s.end(), cell) - s.begin() - 1;
  }
  /// That of the own block.
  Index own_place(int axis) const { return place_[axis]; }

  /// Number of a block: they are numbered in C order.
  int number(const Coord<D>& places) const {
    Index n = 0;
    for (int d = 0; d < D; ++d) n = n * count(d) + places[d];
    return static_cast<int>(n);
  }
  /// Number of the block that has a cell of the domain.
  int block_of(const Coord<D>& cell) const {
    Coord<D> places;
    for (int d = 0; d < D; ++d) places[d] = place(d, cell[d]);
    return number(places);
  }

 private:
  static std::vector<Coord<D>> gathered(const Grid<D>& grid) {
    std::vector<Coord<D>> all{grid.first_cell()};
    if (!grid.block().cut()) return all;
    parallel::Communicator& c = *grid.communicator();
    const Coord<D> own = all.front();
    all.resize(c.size());
    c.gather(&own, sizeof own, all.data());
    return all;
  }

  std::array<std::vector<Index>, D> starts_;
  Coord<D> place_{};
};

/// The blocks that see a cell of the own one: it lies among so many layers of cells around them.
template <int D>
class CellViewers {
 public:
  /// `around`: whether layers go on around periodic axes that are cut.
  CellViewers(const BlockMap<D>& blocks, const Grid<D>& grid, Index layers, bool around)
      : blocks_(blocks), cells_(grid.local_shape()) {
    for (int axis = 0; axis < D; ++axis) {
      const Index d = axis, n = grid.shape()[d];
      own_[d] = blocks.own_place(axis);
      places_[d].resize(cells_[d]);
      for (Index c = 0; c < cells_[d]; ++c)
        for (Index k = 0; k < blocks.count(axis); ++k) {
          const Index lower = blocks.first(axis, k) - layers;
          const Index upper = (k + 1 < blocks.count(axis) ? blocks.first(axis, k + 1) : n) + layers;
          const Index cell = grid.first_cell()[d] + c;
          bool seen = cell >= lower && cell < upper;
          if (around && grid.periodic()[d]) seen = seen || cell + n < upper || cell - n >= lower || upper - lower >= n;
          if (seen) places_[d][c].push_back(k);
        }
    }
  }

  /// Calls visit(number) for the other blocks that see a cell, which is counted from the first of the own block.
  template <class Visit>
  void for_each(const Coord<D>& cell, Visit&& visit) const {
    Index viewers = 1;
    for (std::size_t d = 0; d < D; ++d) viewers *= static_cast<Index>(places_[d][cell[d]].size());
    for (Index v = 0; viewers > 1 && v < viewers; ++v) {
      Coord<D> at;
      Index rest = v;
      for (std::size_t d = D; d-- > 0;) {
        const std::vector<Index>& seen = places_[d][cell[d]];
        at[d] = seen[static_cast<std::size_t>(rest) % seen.size()];
        rest /= static_cast<Index>(seen.size());
      }
      if (at != own_) visit(blocks_.number(at));
    }
  }

 private:
  const BlockMap<D>& blocks_;
  Coord<D> cells_, own_;
  /// For every own cell along an axis, the places of the blocks that see it.
  std::array<std::vector<std::vector<Index>>, D> places_;
};

/// Whether a cell of the domain belongs to the own block.
template <int D>
bool in_block(const Grid<D>& grid, const Coord<D>& cell) {
  for (std::size_t d = 0; d < D; ++d)
    if (cell[d] < grid.first_cell()[d] || cell[d] >= grid.first_cell()[d] + grid.local_shape()[d]) return false;
  return true;
}

}  // namespace meniscus::grid
