/// Memory layout of the unknowns of a Poisson problem: the cells of a box with one ghost layer, rows padded to whole blocks.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::grid {

/// Cells per block of a row. Kernels treat whole blocks, so that their loops have a fixed length on every instruction set.
inline constexpr int cell_block = 16;

/// Cell c is at index(c); its neighbours along axis d are strides[d] away. Cell 0 of every row begins a cache line. The ghosts
/// before and behind a row lie in the padding between rows.
template <int D>
struct CellLayout {
  Coord<D> cells{};
  Coord<D> strides{};
  std::array<bool, D> periodic{};
  Index origin = 0;
  Index size = 0;

  CellLayout() = default;
  CellLayout(const Coord<D>& n, const std::array<bool, D>& p) : cells(n), periodic(p) {
    Index s = 1;
    for (int d = D - 1; d >= 0; --d) {
      strides[d] = s;
      s *= d == D - 1 ? (n[d] + cell_block - 1) / cell_block * cell_block + cell_block : n[d] + 2;
    }
    origin = cell_block;
    for (int d = 0; d + 1 < D; ++d) origin += strides[d];
    size = s + 2 * cell_block;
  }

  Index index(const Coord<D>& c) const { return origin + dot<D>(c, strides); }
  Index count() const { return product<D>(cells); }
  /// Cells of one plane across axis 0 (a row in 2-D).
  Index plane_cells() const { return count() / cells[0]; }
  /// Rows of all planes; row r of plane i is number i * rows_per_plane() + r.
  Index rows_per_plane() const { return plane_cells() / cells[D - 1]; }
  Index rows() const { return cells[0] * rows_per_plane(); }
  /// Index of the first cell of a row.
  Index row(Index number) const {
    if constexpr (D == 2) return origin + number * strides[0];
    return origin + number / cells[1] * strides[0] + number % cells[1] * strides[1];
  }
  Coord<D> row_coordinate(Index number) const {
    Coord<D> c{};
    if constexpr (D == 2) {
      c[0] = number;
    } else {
      c[0] = number / cells[1];
      c[1] = number % cells[1];
    }
    return c;
  }
  /// Does a cell lie where a periodic axis of odd length closes, so that its neighbour across has the same colour?
  bool on_odd_seam(std::size_t axis, Index coordinate) const {
    return periodic[axis] && cells[axis] % 2 == 1 && cells[axis] > 1 && (coordinate == 0 || coordinate == cells[axis] - 1);
  }
  bool operator==(const CellLayout&) const = default;
};

/// Copies the owned values next to periodic sides into the ghosts beyond the opposite sides. Edges and corners are not needed by
/// stencils along the axes.
template <class T, int D>
void wrap_ghosts(const CellLayout<D>& layout, T* values);

/// The same for the ghosts that belong to one plane across axis 0.
template <class T, int D>
void wrap_plane(const CellLayout<D>& layout, T* values, Index plane);

/// The same for the two ghost planes across axis 0.
template <class T, int D>
void wrap_first_axis(const CellLayout<D>& layout, T* values);

}  // namespace meniscus::grid
