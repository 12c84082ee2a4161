/// A box of cells around some cells of a Poisson problem of one block, which follows these across the ends of periodic axes.
#pragma once

#include "meniscus/grid/poisson/cell_layout.hpp"

#include <algorithm>
#include <span>

namespace meniscus::grid {

/// Coordinates in a window go on beyond the ends of periodic axes: `index` finds the cells that they are images of.
template <int D>
class ImageWindow {
 public:
  /// The cells of these indices in the layout, at least one, and `margin` cells around them, no more than they reach themselves.
  ImageWindow(const CellLayout<D>& layout, std::span<const Index> cells, Index margin) : layout_(layout) {
    origin_ = coordinate(cells[0]);
    lower = upper = origin_;
    for (const Index cell : cells) {
      const Coord<D> c = near(cell);
      for (std::size_t d = 0; d < D; ++d) {
        lower[d] = std::min(lower[d], c[d]);
        upper[d] = std::max(upper[d], c[d]);
      }
    }
    for (std::size_t d = 0; d < D; ++d) {
      const Index n = layout.cells[d], wide = std::min(margin, upper[d] - lower[d] + 1);
      lower[d] -= wide;
      upper[d] += wide;
      if (layout.periodic[d]) {
        upper[d] = std::min(upper[d], lower[d] + n - 1);
      } else {
        lower[d] = std::max<Index>(lower[d], 0);
        upper[d] = std::min(upper[d], n - 1);
      }
      extents[d] = upper[d] - lower[d] + 1;
    }
  }

  Coord<D> lower{}, upper{}, extents{};

  Index count() const { return product<D>(extents); }
  /// The coordinates of cell `number` in C order.
  Coord<D> at(Index number) const {
    Coord<D> c{};
    for (std::size_t d = D; d-- > 0; number /= extents[d]) c[d] = lower[d] + number % extents[d];
    return c;
  }
  /// The number of a cell in C order, -1 outside of the window.
  Index number(const Coord<D>& c) const {
    Index place = 0;
    for (std::size_t d = 0; d < D; ++d) {
      if (c[d] < lower[d] || c[d] > upper[d]) return -1;
      place = place * extents[d] + c[d] - lower[d];
    }
    return place;
  }
  /// The index in the layout of the cell that coordinates mean; -1 beyond sides of the domain.
  Index index(Coord<D> c) const {
    for (std::size_t d = 0; d < D; ++d) {
      if (layout_.periodic[d])
        c[d] = parallel::image_in_period(c[d], layout_.cells[d]);
      else if (c[d] < 0 || c[d] >= layout_.cells[d])
        return -1;
    }
    return layout_.index(c);
  }
  /// The image of a cell that is nearest to the first one.
  Coord<D> near(Index cell) const {
    Coord<D> c = coordinate(cell);
    for (std::size_t d = 0; d < D; ++d) {
      if (!layout_.periodic[d]) continue;
      const Index n = layout_.cells[d];
      if (c[d] - origin_[d] > n / 2) c[d] -= n;
      if (origin_[d] - c[d] > n / 2) c[d] += n;
    }
    return c;
  }
  /// Whether cells of both, or of one and around the other, may be the same.
  bool meets(const ImageWindow& other) const {
    for (std::size_t d = 0; d < D; ++d)
      if (!layout_.periodic[d] && (lower[d] > other.upper[d] + 1 || other.lower[d] > upper[d] + 1)) return false;
    return true;
  }

 private:
  Coord<D> coordinate(Index cell) const {
    Coord<D> c{};
    Index rest = cell - layout_.origin;
    for (std::size_t d = 0; d < D; rest -= c[d] * layout_.strides[d], ++d) c[d] = rest / layout_.strides[d];
    return c;
  }

  CellLayout<D> layout_;
  Coord<D> origin_{};
};

}  // namespace meniscus::grid
