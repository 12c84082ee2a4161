/// Values that other blocks own, for kernels that look beyond their own block: of arrays that have no ghosts, as masks and
/// labels, and of fields beyond their ghosts.
///
/// Samples of the block are read in the array itself; those of other blocks are kept beside it.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/parallel/box_exchange.hpp"

#include <optional>

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
  BlockWindow() = default;
  /// Fetches at once.
  BlockWindow(const Grid<D>& grid, const Stagger<D>& stagger, const V* own, const Coord<D>& strides, Index width) {
    fetch(grid, stagger, own, strides, width);
  }
  /// Of an array of the cells of the block in C order.
  BlockWindow(const Grid<D>& grid, const V* cells, Index width)
      : BlockWindow(grid, Stagger<D>::cell(), cells, c_strides<D>(grid.local_shape()), width) {}

  BlockWindow(BlockWindow&&) noexcept = default;

  /// Collective where the grid is cut and `width` is not zero: obtains the samples up to `width` beyond the block along the axes
  /// that are cut. `width` is the same on all blocks. `own`: sample (0, 0, 0) of an array with these strides, which stays. A
  /// window is of one grid and place in the cells; the plan is kept for as long as the width is the same.
  template <class T>
  void fetch(const Grid<D>& grid, const Stagger<D>& stagger, const T* own, const Coord<D>& strides, Index width);

  /// The value at a sample of the domain, or at an image of one, that was asked for; counted from the first of the block. Of an
  /// array of this type.
  const V& at(Coord<D> index) const {
    Index at = 0;
    bool own = true;
    for (std::size_t d = 0; d < D; ++d) {
      Index& i = index[d];
      resolve(d, i);
      own = own && i >= own_.begin[d] && i < own_.end[d];
      at += i * strides_[d];
    }
    return own ? origin_[at] : beyond_[place_of(index)];
  }

  /// The value at a sample of another block, or nullptr where it was not asked for.
  const V* find(Coord<D> index) const {
    if (beyond_.empty()) return nullptr;
    for (std::size_t d = 0; d < D; ++d) {
      resolve(d, index[d]);
      if (index[d] < window_.begin[d] || index[d] >= window_.end[d]) return nullptr;
    }
    const Index at = place_of(index);
    return at < 0 ? nullptr : &beyond_[at];
  }

 private:
  /// A part of the window beyond the block: below or above it along an axis, as wide as the window along earlier axes and as the
  /// block along later ones.
  struct Slab {
    Coord<D> begin{}, strides{};
    Index offset = 0;  ///< of its first sample
  };

  void plan(const Grid<D>& grid, const Stagger<D>& stagger, Index width);
  /// Replaces an index beyond the window by its image in the window, around a periodic axis.
  void resolve(std::size_t d, Index& i) const {
    if (period_[d] > 0 && (i < window_.begin[d] || i >= window_.end[d]))
      i = window_.begin[d] + parallel::image_in_period(i - window_.begin[d], period_[d]);
  }
  /// Place of a sample of the window among those beyond the block; negative for those of the block.
  Index place_of(const Coord<D>& c) const {
    for (std::size_t d = D; d-- > 0;) {
      const bool above = c[d] >= own_.end[d];
      if (!above && c[d] >= own_.begin[d]) continue;
      const Slab& slab = slabs_[2 * d + (above ? 1 : 0)];
      Index at = slab.offset;
      for (std::size_t e = 0; e < D; ++e) at += (c[e] - slab.begin[e]) * slab.strides[e];
      return at;
    }
    return -1;
  }

  const V* origin_ = nullptr;  ///< sample (0, 0, 0) of the block
  Coord<D> strides_{}, period_{};
  parallel::IndexBox<D> own_, window_;  ///< counted from the first of the block
  std::array<Slab, 2 * D> slabs_;
  std::vector<V> beyond_;
  Index width_ = 0;
  std::optional<parallel::BoxExchange<D>> exchange_;
};

}  // namespace meniscus::grid
