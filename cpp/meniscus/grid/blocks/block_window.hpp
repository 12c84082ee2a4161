/// Values that other blocks own, for kernels that look beyond their own block: of arrays that have no ghosts, as masks and
/// labels, and of fields beyond their ghosts.
///
/// Where the grid is not cut, or nothing is asked for beyond the block, the array itself is read and nothing is copied.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/parallel/box_exchange.hpp"

#include <algorithm>

namespace meniscus::grid {

/// Index in the block, or beyond its sides, of the cell of the domain that is nearest to cell i of an axis. Along periodic axes
/// every cell has an image; it is in the block where that is the only one along the axis.
template <int D>
Index nearest_in_domain(const Grid<D>& grid, int axis, Index i) {
  const Index d = axis;
  const Index first = grid.first_cell()[d], n = grid.shape()[d];
  if (!grid.periodic()[d]) return std::clamp<Index>(first + i, 0, n - 1) - first;
  return grid.block().cut(axis) ? i : parallel::image_in_period(i, n);
}

/// Whether cell i of an axis, counted from the first of the block, is a cell of the domain or an image of one.
template <int D>
bool in_domain(const Grid<D>& grid, int axis, Index i) {
  const Index d = axis;
  const Index global = grid.first_cell()[d] + i;
  return grid.periodic()[d] || (global >= 0 && global < grid.shape()[d]);
}

/// C-ordered index in the domain of a cell that is counted from the first of the block.
template <int D>
Index domain_index(const Grid<D>& grid, const Coord<D>& cell) {
  Index index = 0;
  for (std::size_t d = 0; d < D; ++d) {
    const Index n = grid.shape()[d], i = grid.first_cell()[d] + cell[d];
    index = index * n + (grid.periodic()[d] ? parallel::image_in_period(i, n) : i);
  }
  return index;
}

/// Index in the block, or beyond its sides, of cell i of the domain: around a periodic axis, its image that is nearest to the
/// block.
template <int D>
Index image_near_block(const Grid<D>& grid, int axis, Index i) {
  const Index d = axis;
  const Index n = grid.shape()[d], last = grid.local_shape()[d] - 1;
  Index at = i - grid.first_cell()[d];
  if (!grid.periodic()[d]) return at;
  // Twice the distance from the middle of the block.
  if (2 * at - last > n) at -= n;
  if (last - 2 * at > n) at += n;
  return at;
}

/// The cell of the block in which a point of it lies (m), counted from its first; points outside of the domain belong to the
/// nearest cell of that. Throws InvalidArgument where it is another block's.
template <class T, int D>
Coord<D> cell_in_block(const Grid<D>& grid, const T* x) {
  Coord<D> cell = locate_in_domain<T, D>(grid, x).cell;
  for (std::size_t d = 0; d < D; ++d) {
    cell[d] -= grid.first_cell()[d];
    require(cell[d] >= 0 && cell[d] < grid.local_shape()[d], "a point must lie in the block that holds it");
  }
  return cell;
}

/// Cells by which a cell lies beyond the block, along the axis where that is most.
template <int D>
Index distance_from_block(const Grid<D>& grid, const Coord<D>& cell) {
  Index most = 0;
  for (std::size_t d = 0; d < D; ++d) most = std::max({most, -cell[d], cell[d] - grid.local_shape()[d] + 1});
  return most;
}

template <class V, int D>
class BlockWindow {
 public:
  /// Collective where the grid is cut and `width` is not zero: obtains the samples up to `width` beyond the block along the axes
  /// that are cut. `width` is the same on all blocks. `own`: sample (0, 0, 0) of an array with these strides, which stays.
  BlockWindow(const Grid<D>& grid, const Stagger<D>& stagger, const V* own, const Coord<D>& strides, Index width);
  /// Of an array of the cells of the block in C order.
  BlockWindow(const Grid<D>& grid, const V* cells, Index width)
      : BlockWindow(grid, Stagger<D>::cell(), cells, c_strides<D>(grid.local_shape()), width) {}

  BlockWindow(BlockWindow&&) noexcept = default;  // a copy would read the values of the other one

  /// The value at a sample of the domain, or at an image of one, that was asked for; counted from the first of the block.
  const V& at(const Coord<D>& index) const {
    Index at = 0;
    for (std::size_t d = 0; d < D; ++d) {
      Index i = index[d];
      if (period_[d] > 0 && (i < begin_[d] || i >= end_[d]))
        i = begin_[d] + (((i - begin_[d]) % period_[d]) + period_[d]) % period_[d];
      at += i * strides_[d];
    }
    return origin_[at];
  }

 private:
  const V* origin_;
  Coord<D> strides_, begin_{}, end_, period_{};
  std::vector<V> values_;
};

}  // namespace meniscus::grid
