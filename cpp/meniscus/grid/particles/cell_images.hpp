/// Indices beyond the sides of a domain: periodic images, or the nearest cell or sample inside.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/grid/grid.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::grid {

/// Cells after which an axis repeats; 0 if it has sides.
template <int D>
Index period_of(const Grid<D>& grid, int axis) {
  const Index d = axis;
  return grid.periodic()[d] ? grid.shape()[d] : 0;
}

/// The only block of a domain with the cells of a grid that may be cut.
template <int D>
Grid<D> uncut(const Grid<D>& grid) {
  return {grid.shape(), grid.spacing(), grid.origin(), grid.periodic()};
}

/// Index along an axis of the cell that replaces cell i: its periodic image, or the nearest cell beyond other sides.
template <int D>
Index nearest_cell(const Grid<D>& grid, int axis, Index i) {
  return grid.block().nearest(axis, i);
}

/// The same for all axes.
template <int D>
Coord<D> nearest_cell(const Grid<D>& grid, Coord<D> cell) {
  for (int d = 0; d < D; ++d) cell[d] = nearest_cell(grid, d, cell[d]);
  return cell;
}

/// Index along an axis of the cell that cell i is, or is a periodic image of; -1 beyond other sides. For grids of one block.
template <int D>
Index image_of_cell(const Grid<D>& grid, int axis, Index i) {
  return grid.block().image(axis, i).value_or(-1);
}

/// Index along an axis of cell i in the lattice that continues the grid on all sides: its image in the domain on a periodic axis,
/// else i itself.
template <int D>
Index lattice_cell(const Grid<D>& grid, int axis, Index i) {
  const Index d = axis;
  return grid.periodic()[d] ? parallel::image_in_period(i, grid.shape()[d]) : i;
}

/// The same for a coordinate in cells from the lower corner of the domain.
template <int D>
double lattice_coordinate(const Grid<D>& grid, int axis, double x) {
  const Index d = axis;
  if (!grid.periodic()[d]) return x;
  const auto n = static_cast<double>(grid.shape()[d]);
  const double rest = std::fmod(x, n);
  return rest < 0.0 ? rest + n : rest;
}

/// Index along an axis of the sample that sample i is, or is a periodic image of; -1 beyond other sides. The first and the last
/// sample on the sides of a periodic axis are one unknown, which the last one owns.
template <int D>
Index image_of_sample(const Grid<D>& grid, const Stagger<D>& stagger, int axis, Index i) {
  const Index d = axis;
  const Index n = grid.shape()[d];
  if (!grid.periodic()[d]) return i >= 0 && i < n + stagger.on_side[d] ? i : -1;
  return stagger.on_side[d] + parallel::image_in_period(i - stagger.on_side[d], n);
}

/// Index along an axis of the second copy of sample i, where it lies on a side of a periodic axis; else -1.
template <int D>
Index twin_of_sample(const Grid<D>& grid, const Stagger<D>& stagger, int axis, Index i) {
  const Index d = axis;
  const Index n = grid.shape()[d];
  if (!grid.periodic()[d] || !stagger.on_side[d]) return -1;
  return i == 0 ? n : i == n ? 0 : -1;
}

/// Index in the block of the lower of two neighbouring cells around a point, counted from its first cell; both are among its own
/// cells and two layers of ghosts. Around a periodic axis that is cut, it is their image there. Throws InvalidArgument where the
/// block of such an axis has them not.
template <int D>
Index lower_cell_in_block(const Grid<D>& grid, int axis, Index cell) {
  const Index d = axis;
  Index i = cell - grid.first_cell()[d];
  if (!grid.block().cut(axis)) return i;
  const Index n = grid.shape()[d], last = grid.local_shape()[d];
  if (grid.periodic()[d] && i < -2) i += n;
  if (grid.periodic()[d] && i > last) i -= n;
  require(i >= -2 && i <= last, "cell ", cell, " along axis ", axis, " lies beyond the ghosts of a block of ", last,
          " cells that begins at cell ", grid.first_cell()[d]);
  return i;
}

/// The indices [begin, end) of an axis that hold unknowns. On a periodic axis all other indices are images of them.
struct ImagedRange {
  Index begin = 0;
  Index end = 0;
  bool periodic = false;

  /// The unknown at index i, or the one that i is an image of. On an axis with sides, i must hold an unknown.
  Index owner(Index i) const { return periodic ? begin + parallel::image_in_period(i - begin, end - begin) : i; }

  /// Leaves out indices at the sides; a periodic axis has none.
  void trim(Index at_lower, Index at_upper) {
    if (periodic) return;
    begin += at_lower;
    end -= at_upper;
  }

  /// The part of [first, last] that unknowns or their images fill.
  std::array<Index, 2> within(Index first, Index last) const {
    if (periodic) return {first, last};
    return {std::max(first, begin), std::min(last, end - 1)};
  }

  /// Calls body(a, b) for the runs [a, b] of [first, last] where the unknowns [from, to) or their images lie.
  template <class Body>
  void for_each_image(Index from, Index to, Index first, Index last, Body&& body) const {
    const Index n = end - begin;
    Index shift = periodic ? (first - from - parallel::image_in_period(first - from, n)) : 0;
    for (; from + shift <= last; shift += n) {
      const Index a = std::max(first, from + shift), b = std::min(last, to - 1 + shift);
      if (a <= b) body(a, b);
      if (!periodic) break;
    }
  }
};

/// The unknowns of a field with the given stagger along an axis: of the two copies on the sides of a periodic axis, the last.
template <int D>
ImagedRange unknowns(const Grid<D>& grid, const Stagger<D>& stagger, int axis) {
  const Index d = axis;
  const Index first = grid.periodic()[d] ? stagger.on_side[d] : 0;
  return {first, grid.shape()[d] + stagger.on_side[d], grid.periodic()[d]};
}

/// A cell beyond a side is the image of a cell inside: x = scale * (x there) + shift, in cells.
struct CellImage {
  Index cell;
  double scale;
  double shift;
};

/// The image of cell i along an axis. Sides that are not periodic are mirrors, so that particles
/// have as many neighbours there as elsewhere.
template <int D>
CellImage mirrored_cell(const Grid<D>& grid, int axis, Index i) {
  const Index d = axis;
  const Index n = grid.shape()[d];
  if (i >= 0 && i < n) return {i, 1.0, 0.0};
  const Index image = parallel::image_in_period(i, grid.periodic()[d] ? n : 2 * n);
  if (image < n) return {image, 1.0, static_cast<double>(i - image)};
  const Index mirrored = 2 * n - 1 - image;
  return {mirrored, -1.0, static_cast<double>(i + mirrored + 1)};
}

}  // namespace meniscus::grid
