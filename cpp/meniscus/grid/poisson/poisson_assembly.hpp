/// Assembly of the matrix of a Poisson problem from coefficients on faces.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/poisson/face_matrix.hpp"

#include <atomic>

namespace meniscus::grid {

/// Calls body(first, count, lower side, upper side) for every row of faces along `axis`: `first` is the coordinate of the first
/// face (that of the cell above it), `count` their number. The sides are numbers of the domain's sides that the first and the
/// last face of the row lie on (or all of them, where the row runs across the axis), else -1; shared sides count as -1.
template <int D, class Body>
void for_each_face_row(const CellLayout<D>& layout, int axis, Body&& body) {
  const Index d = axis;
  Coord<D> faces = layout.cells;
  ++faces[d];
  const Index length = faces[D - 1];
  parallel_for(0, product<D>(faces) / length, std::max<Index>(1, 8192 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c{};
      if constexpr (D == 2) {
        c[0] = r;
      } else {
        c[0] = r / faces[1];
        c[1] = r % faces[1];
      }
      int lower = -1, upper = -1;
      if (axis == D - 1) {
        lower = layout.side_of_face(axis, 0);
        upper = layout.side_of_face(axis, length - 1);
      } else {
        lower = upper = layout.side_of_face(axis, c[d]);
      }
      body(c, length, lower, upper);
    }
  });
}

/// Sets every face to coefficient(axis, lower cell, upper cell, side): indices into the layout, and the number of the domain's
/// side that the face lies on, or -1; there, one of the cells is a ghost. Diagonals become the sum over the faces of a cell and
/// its mass where unknown(cell), else zero. Returns whether anything has changed, and in `changes` (if not null) in which rows.
/// The matrix must have face arrays, and is not finished yet.
template <int D, class Coefficient, class Unknown>
bool assemble(FaceMatrix<double, D>& matrix, Coefficient&& coefficient, Unknown&& unknown, double mass = 0,
              RowChanges<D>* changes = nullptr) {
  const CellLayout<D>& layout = matrix.layout;
  if (changes) changes->clear(layout);
  std::atomic<bool> changed{matrix.mass != mass};
  matrix.mass = mass;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    double* faces = matrix.faces[axis].data();
    const Index s = layout.strides[axis];
    for_each_face_row<D>(layout, d, [&](const Coord<D>& first, Index count, int lower_side, int upper_side) {
      bool differs = false;
      const Index begin = layout.index(first);
      for (Index k = 0; k < count; ++k) {
        int side = -1;
        if (d != D - 1 || k == 0) side = lower_side;
        if (d == D - 1 && k == count - 1) side = upper_side;
        const double w = coefficient(d, begin + k - s, begin + k, side);
        differs |= faces[begin + k] != w;
        faces[begin + k] = w;
      }
      if (!differs) return;
      changed.store(true, std::memory_order_relaxed);
      if (changes) changes->mark_faces(first, d);
    });
  }
  const Index length = layout.cells[D - 1];
  parallel_for(0, layout.rows(), std::max<Index>(1, 8192 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      bool differs = false;
      for (Index i = layout.row(r); i < layout.row(r) + length; ++i) {
        double sum = 0;
        if (unknown(i)) {
          for (std::size_t d = 0; d < D; ++d) sum += matrix.faces[d][i] + matrix.faces[d][i + layout.strides[d]];
          sum += mass;
        }
        differs |= matrix.diagonal[i] != sum;
        matrix.diagonal[i] = sum;
      }
      if (!differs) continue;
      changed.store(true, std::memory_order_relaxed);
      if (changes) changes->mark(r);
    }
  });
  return changed;
}

/// The same without face arrays: every coefficient inside the domain is 1, those on side s are side_coefficient[s]. With
/// unknown(cell) false, faces towards the cell are Dirichlet conditions.
template <int D, class Unknown>
bool assemble_open(FaceMatrix<double, D>& matrix, const std::array<double, 2 * D>& side_coefficient, Unknown&& unknown,
                   RowChanges<D>* changes = nullptr) {
  const CellLayout<D>& layout = matrix.layout;
  if (changes) changes->clear(layout);
  std::atomic<bool> changed{false};
  for (std::size_t d = 0; d < D; ++d) {
    const double coupling = layout.single_cell_ring(d) ? 0.0 : 1.0;
    if (matrix.open_coupling[d] != coupling) changed = true;
    matrix.open_coupling[d] = coupling;
  }
  const Index length = layout.cells[D - 1];
  parallel_for(0, layout.rows(), std::max<Index>(1, 8192 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      bool differs = false;
      Coord<D> c = layout.row_coordinate(r);
      for (Index k = 0; k < length; ++k) {
        c[D - 1] = k;
        const Index i = layout.row(r) + k;
        double sum = 0;
        if (unknown(i))
          for (std::size_t d = 0; d < D; ++d)
            for (std::size_t side = 0; side < 2; ++side) {
              const int at = layout.side_of_face(static_cast<int>(d), c[d] + static_cast<Index>(side));
              sum += at == static_cast<int>(2 * d + side) ? side_coefficient[2 * d + side] : matrix.open_coupling[d];
            }
        differs |= matrix.diagonal[i] != sum;
        matrix.diagonal[i] = sum;
      }
      if (!differs) continue;
      changed.store(true, std::memory_order_relaxed);
      if (changes) changes->mark(r);
    }
  });
  return changed;
}

/// Changes the layout and the kind of storage of a matrix if needed; returns whether everything has to be set anew.
template <int D>
bool fit(FaceMatrix<double, D>& matrix, const CellLayout<D>& layout, bool with_faces) {
  if (matrix.layout == layout && matrix.has_faces == with_faces && matrix.diagonal.size() == layout.size) return false;
  matrix.reset(layout, with_faces);
  return true;
}

}  // namespace meniscus::grid
