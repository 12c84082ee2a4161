/// Loops over cells and the flux through their faces, for the projection.
#pragma once

#include "meniscus/fluids/pressure/wall_velocity.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/poisson/cell_layout.hpp"
#include "meniscus/grid/poisson/face_fractions.hpp"
#include "meniscus/grid/poisson/poisson_assembly.hpp"

#include <optional>

namespace meniscus::fluids {

/// Calls body(coordinate, index of the first cell, cells) for every row of cells, in parallel.
template <int D, class Body>
void for_each_cell_row(const grid::CellLayout<D>& layout, Body&& body) {
  const Index length = layout.cells[D - 1];
  parallel_for(0, layout.rows(), std::max<Index>(1, 8192 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) body(layout.row_coordinate(r), layout.row(r), length);
  });
}

/// Flux per area through faces: of the fluid through the open part, of the solid (at rest, if none is given) through the rest.
///
/// The flux of the wall in a cut cell is that of the solid through the closed parts of the faces, minus the growth of the solid.
/// The growth is its divergence in the closed part of the cell; it vanishes for rigid motions.
template <class T, int D>
class FluxRows {
 public:
  /// `faces`: per component the first owned sample of a block with the layout of the velocity's. `gain`: as for
  /// `WallVelocity`.
  FluxRows(const std::array<const T*, D>& faces, const grid::MacField<T, D>& velocity, const grid::SolidBoundary<T, D>* solid,
           const Vec<double, D>& gain, const std::array<Block<double>, D>* open, const grid::CellLayout<D>& layout)
      : faces_(faces), open_(open), layout_(layout) {
    for (int d = 0; d < D; ++d) strides_[d] = velocity.component(d).view().strides;
    if (solid && solid->velocity()) walls_.emplace(*solid, faces, gain);
  }

  /// sums[k] = flux out of cell c + k, which lies along a row, for `count` cells; `first` is the index of c in the layout.
  void outflow(const Coord<D>& c, Index first, Index count, double* sums) const {
    std::fill_n(sums, count, 0.0);
    for (std::size_t d = 0; d < D; ++d) {
      const T* lower = faces_[d] + dot<D>(c, strides_[d]);
      const T* upper = lower + strides_[d][d];
      if (!open_) {
        for (Index k = 0; k < count; ++k) sums[k] += static_cast<double>(upper[k]) - static_cast<double>(lower[k]);
        continue;
      }
      const double* a = (*open_)[d].data() + first;
      const double* b = a + layout_.strides[d];
      for (Index k = 0; k < count; ++k) sums[k] += b[k] * static_cast<double>(upper[k]) - a[k] * static_cast<double>(lower[k]);
    }
    if (open_ && walls_) add_walls(c, first, count, sums);
  }

 private:
  void add_walls(Coord<D> c, Index first, Index count, double* sums) const {
    for (Index k = 0; k < count; ++k, ++c[D - 1]) {
      double closed = 0;
      for (std::size_t d = 0; d < D; ++d) closed += 2 - (*open_)[d][first + k] - (*open_)[d][first + k + layout_.strides[d]];
      if (closed == 0) continue;
      closed /= 2 * D;
      for (std::size_t d = 0; d < D; ++d) {
        const double a = (*open_)[d][first + k], b = (*open_)[d][first + k + layout_.strides[d]];
        Coord<D> ahead = c;
        ++ahead[d];
        sums[k] += walls_->flux(d, ahead, b, c) - walls_->flux(d, c, a, c) - closed * walls_->stretching(d, c);
      }
    }
  }

  std::array<const T*, D> faces_;
  std::optional<WallVelocity<T, D>> walls_;
  std::array<Coord<D>, D> strides_;
  const std::array<Block<double>, D>* open_;
  const grid::CellLayout<D>& layout_;
};

}  // namespace meniscus::fluids
