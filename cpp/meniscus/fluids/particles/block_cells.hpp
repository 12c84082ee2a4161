/// Arrays of the cells of a block, with ghosts where the grid is cut.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/cell_neighbors.hpp"
#include "meniscus/parallel/halo_plan.hpp"

namespace meniscus::fluids {

/// Cells of a row, [begin, end).
struct CellRange {
  Index begin = 0, end = 0;

  bool empty() const { return begin >= end; }
  bool holds(Index c) const { return c >= begin && c < end; }
  void join(const CellRange& other) {
    if (other.empty()) return;
    *this = empty() ? other : CellRange{std::min(begin, other.begin), std::max(end, other.end)};
  }
};

/// From the first to the last of some cells that have a flag.
inline CellRange flagged_range(const std::uint8_t* flags, Index length) {
  CellRange range{0, length};
  while (!range.empty() && !flags[range.begin]) ++range.begin;
  while (!range.empty() && !flags[range.end - 1]) --range.end;
  return range;
}

/// The places of cells in such an array: with two layers of ghosts that other blocks own, or without where there are none.
template <int D>
class BlockCells {
 public:
  explicit BlockCells(const grid::Grid<D>& grid) : grid_(grid), ghosts_(grid.block().cut() ? ghost_layers : 0) {
    Coord<D> padded = grid.local_shape();
    for (Index& n : padded) n += 2 * ghosts_;
    strides_ = c_strides<D>(padded);
    size_ = product<D>(padded);
    for (const Index s : strides_) origin_ += ghosts_ * s;
    if (ghosts_ > 0) plan_ = parallel::HaloPlan<D>({grid.block(), {}, ghosts_, origin_, strides_}, grid.communicator());
  }

  Index size() const { return size_; }
  const Coord<D>& strides() const { return strides_; }
  /// Calls body(cell of the block, its place, its index in a window around the block) for all cells, in parallel by `grain`
  /// cells.
  template <class Body>
  void for_each(const grid::SearchWindow<D>& window, Index grain, Body&& body) const {
    const Coord<D>& n = grid_.local_shape();
    const Index length = n[D - 1];
    parallel_for(0, product<D>(n) / length, std::max<Index>(1, grain / length), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Coord<D> c{};
        Index rest = r;
        for (std::size_t d = D - 1; d-- > 0; rest /= n[d]) c[d] = rest % n[d];
        const Index first = place(c), in_window = window.index(in_domain(c));
        for (Index k = 0; k < length; ++k) {
          c[D - 1] = k;
          body(c, first + k, in_window + k);
        }
      }
    });
  }
  /// A cell of the block in the domain.
  Coord<D> in_domain(Coord<D> c) const {
    for (std::size_t d = 0; d < D; ++d) c[d] += grid_.first_cell()[d];
    return c;
  }
  Index place(const Coord<D>& c) const { return origin_ + dot<D>(c, strides_); }
  /// Collective: fills the ghosts.
  template <class V>
  void exchange(V* values) const {
    if (ghosts_ > 0) plan_.exchange(values);
  }
  /// The place of a neighbour of a cell along an axis, or -1 beyond a side of the domain.
  Index neighbour(const Coord<D>& c, Index place, int axis, Index offset) const {
    const Index d = axis;
    if (const Index next = c[d] + offset; next >= 0 && next < grid_.local_shape()[d]) return place + offset * strides_[d];
    const auto at = grid_.block().image(axis, c[d] + offset);
    return at ? place + (*at - c[d]) * strides_[d] : -1;
  }

 private:
  static constexpr int ghost_layers = 2;

  const grid::Grid<D>& grid_;
  int ghosts_;
  Index size_ = 0, origin_ = 0;
  Coord<D> strides_;
  parallel::HaloPlan<D> plan_;
};

}  // namespace meniscus::fluids
