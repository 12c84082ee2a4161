/// Effect of a control on the cells of a block and one layer around them: a potential that draws the fluid, and a part of every
/// cell in which the control sets a velocity.
///
/// All values are functions of the place of a cell in the domain alone, so that cells which several blocks see, or which are
/// images of each other around a periodic axis, agree in every bit without an exchange.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/particles/cell_images.hpp"

namespace meniscus::fluids {

template <int D>
class ControlCells {
 public:
  /// Values are not set.
  ControlCells(const grid::Grid<D>& grid, Workspace& workspace) : grid_(grid), extents_(grid.local_shape()) {
    for (Index& n : extents_) n += 2;
    strides_ = c_strides<D>(extents_);
    values_ = workspace.take<double>((D + 2) * product<D>(extents_));
  }

  const grid::Grid<D>& grid() const { return grid_; }
  /// Extents with the layer around the block; `index` of a cell counts from the first cell of the block, from -1 on.
  const Coord<D>& extents() const { return extents_; }
  Index index(const Coord<D>& cell) const {
    Index i = 0;
    for (std::size_t d = 0; d < D; ++d) i += (cell[d] + 1) * strides_[d];
    return i;
  }

  /// The acceleration is minus its gradient, m^2/s^2.
  double* potential() const { return values_.data(); }
  /// The part of the cell that is controlled, 0 to 1.
  double* cover() const { return values_.data() + product<D>(extents_); }
  /// `cover` times a component of the velocity that the control wants, m/s.
  double* momentum(int d) const { return values_.data() + (2 + d) * product<D>(extents_); }

 private:
  const grid::Grid<D>& grid_;
  Coord<D> extents_, strides_;
  Workspace::Lease<double> values_;
};

/// Distance along an axis of the centre of a cell from x, in cells: from its place in the domain, so that it has the same bits in
/// every block.
inline double distance_of_center(Index place, double x) { return static_cast<double>(place) + 0.5 - x; }

/// A run of the cells [begin, end) of an axis, counted from the first of the block, that follow each other in the domain too;
/// `place` is that of the first there, or of its image.
struct CellRun {
  Index begin = 0, end = 0, place = 0;
};

/// The cells of an axis and some layers around them as runs: one, and one more at each end where a periodic axis begins anew.
struct CellRuns {
  std::array<CellRun, 3> run;
  std::size_t count = 0;

  CellRuns() = default;
  template <int D>
  CellRuns(const grid::Grid<D>& grid, int axis, Index layers) {
    const Index d = axis;
    const auto place_of = [&](Index i) { return grid::lattice_cell(grid, axis, grid.first_cell()[d] + i); };
    const Index n = grid.local_shape()[d];
    // The cells of a block follow each other; only those around it may be images.
    const auto append = [&](Index begin, Index end) {
      if (begin == end) return;
      if (count > 0 && run[count - 1].place + (begin - run[count - 1].begin) == place_of(begin))
        run[count - 1].end = end;
      else
        run[count++] = {begin, end, place_of(begin)};
    };
    append(-layers, 0);
    append(0, n);
    append(n, n + layers);
  }

  /// Calls body(first cell, one beyond the last, place of the first in the domain) for the cells with centres within `reach` of
  /// x, which is in cells from the lower corner of the domain.
  template <class Body>
  void within(double x, double reach, Body&& body) const {
    for (std::size_t r = 0; r < count; ++r) {
      const Index to_block = run[r].begin - run[r].place;
      const Index first = std::max(static_cast<Index>(std::ceil(x - reach - 0.5)), run[r].place);
      const Index last = std::min(static_cast<Index>(std::floor(x + reach - 0.5)), run[r].end - 1 - to_block);
      if (first <= last) body(first + to_block, last + 1 + to_block, first);
    }
  }
};

}  // namespace meniscus::fluids
