/// The blocks of a domain, and which of them has a cell.
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

/// Whether a cell of the domain belongs to the own block.
template <int D>
bool in_block(const Grid<D>& grid, const Coord<D>& cell) {
  for (std::size_t d = 0; d < D; ++d)
    if (cell[d] < grid.first_cell()[d] || cell[d] >= grid.first_cell()[d] + grid.local_shape()[d]) return false;
  return true;
}

}  // namespace meniscus::grid
