/// Rows of cells in which something has changed, so that the levels of a hierarchy derive anew only what depends on them.
#pragma once

#include "meniscus/grid/poisson/block_geometry.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace meniscus::grid {

template <int D>
class RowChanges {
 public:
  /// Nothing has changed in the rows of a layout.
  void clear(const CellLayout<D>& layout) {
    layout_ = layout;
    all_ = false;
    rows_.assign(layout.rows(), 0);
  }
  void mark_all(const CellLayout<D>& layout) {
    clear(layout);
    all_ = true;
  }
  /// Several threads may mark at the same time.
  void mark(Index row) { std::atomic_ref<std::uint8_t>(rows_[row]).store(1, std::memory_order_relaxed); }
  /// Marks the rows on both sides of the faces of a row, across `axis`, whose upper cells begin at `first`.
  void mark_faces(const Coord<D>& first, int axis) {
    const Index d = axis;
    const Index row = number(first);
    if (axis == D - 1 || first[d] < layout_.cells[d]) mark(row);
    if (axis < D - 1 && first[d] > 0) mark(row - (D == 3 && axis == 0 ? layout_.cells[D - 2] : 1));
  }

  /// Whether a row beside the faces of a row is marked, as above.
  bool beside_faces(const Coord<D>& first, int axis) const {
    const Index d = axis;
    const Index row = number(first);
    const bool upper = (axis == D - 1 || first[d] < layout_.cells[d]) && (*this)[row];
    return all_ || upper || (axis < D - 1 && first[d] > 0 && (*this)[row - (D == 3 && axis == 0 ? layout_.cells[D - 2] : 1)]);
  }
  Index count() const { return all_ ? layout_.rows() : std::count(rows_.begin(), rows_.end(), std::uint8_t(1)); }

  bool all() const { return all_; }
  bool any() const { return all_ || std::find(rows_.begin(), rows_.end(), std::uint8_t(1)) != rows_.end(); }
  bool operator[](Index row) const { return all_ || rows_[row] != 0; }

  /// Also marks the rows next to marked ones, those across edges and around periodic sides included.
  void widen() {
    if (all_) return;
    for (std::size_t d = 0; d + 1 < D; ++d) {
      before_ = rows_;
      const Index n = layout_.cells[d], s = D == 3 && d == 0 ? layout_.cells[D - 2] : 1;
      for (Index r = 0; r < layout_.rows(); ++r) {
        if (!before_[r]) continue;
        const Index at = layout_.row_coordinate(r)[d];
        for (const Index side : {Index(-1), Index(1)}) {
          Index other = at + side;
          if (layout_.periodic[d]) other = (other + n) % n;
          if (other >= 0 && other < n) rows_[r + (other - at) * s] = 1;
        }
      }
    }
  }

  /// The rows of blocks that hold a marked row.
  void coarsen(const RowChanges& fine, const BlockGeometry<D>& geometry) {
    clear(geometry.coarse);
    all_ = fine.all_;
    if (all_) return;
    for (Index r = 0; r < geometry.fine.rows(); ++r) {
      if (!fine.rows_[r]) continue;
      Coord<D> c = geometry.fine.row_coordinate(r);
      for (std::size_t d = 0; d + 1 < D; ++d) c[d] = geometry.halved[d] ? c[d] / 2 : c[d];
      rows_[number(c)] = 1;
    }
  }

 private:
  Index number(const Coord<D>& c) const {
    if constexpr (D == 2) return c[0];
    return c[0] * layout_.cells[1] + c[1];
  }

  CellLayout<D> layout_;
  bool all_ = true;
  std::vector<std::uint8_t> rows_, before_;
};

}  // namespace meniscus::grid
