/// One level of the Poisson hierarchy in single precision: red-black Gauss-Seidel sweeps and residuals.
///
/// Cells are red or black by the parity of their coordinate sum in the domain. Across a periodic side of odd length two cells of
/// one colour meet; there a half-sweep uses the values from before it, so the result does not depend on any order, and a reversed
/// sequence of half-sweeps remains the adjoint of the sequence. Half of the coupling between the two is added to their diagonals,
/// for otherwise two cells that are coupled to nothing else would only swap their errors, and the cycle would not be definite.
#pragma once

#include "meniscus/grid/poisson/face_matrix.hpp"
#include "meniscus/grid/poisson/levels/level_margins.hpp"
#include "meniscus/parallel/box_exchange.hpp"

#include <array>

namespace meniscus::grid {

template <int D>
class PoissonLevel {
 public:
  FaceMatrix<float, D> matrix;
  /// Inverse of the divisor of a half-sweep: the diagonal, enlarged on odd seams. Zero where the diagonal is zero.
  Block<float> inverse_diagonal;
  /// Solution, right-hand side, residual. The solution is zero in cells that are no unknowns; ghosts beyond shared sides hold
  /// copies.
  Block<float> x, b, residual;

  /// Call it after `matrix.finish()`. Only rows that have changed are derived anew.
  void prepare(const RowChanges<D>& changed);
  /// The same for all rows.
  void prepare();

  /// On a window of a domain that is cut: what is not needed for the results in these cells is left out, by rows. (Layers by
  /// `level_margins.hpp`.) After `prepare`, which expects it again where the layout has changed.
  void limit_to(const parallel::IndexBox<D>& needed) {
    needed_ = needed;
    limited_ = true;
    // Rows are swept to their ends, beyond what is known of the right-hand side.
    std::fill(b.begin(), b.end(), 0.0f);
  }

  /// Bytes of the arrays; of the matrix's, see FaceMatrix.
  Index bytes(bool derived = true) const {
    return matrix.bytes(derived) + 4 * (inverse_diagonal.size() + x.size() + b.size() + residual.size());
  }

  /// Red, black, red, black, starting from x = 0 (what x held before is not read).
  void smooth_from_zero() { smooth({0, 1, 0, 1}, true); }
  /// Black, red, black, red: the adjoint of the other.
  void smooth_reversed() { smooth({1, 0, 1, 0}, false); }

  /// residual = b - A x after smooth_from_zero.
  void compute_residual();

 private:
  void smooth(const std::array<int, half_sweeps>& colours, bool from_zero);
  void damp_odd_seams(const RowChanges<D>& changed);
  template <class Body>
  void for_each_changed_row(const RowChanges<D>& changed, Body&& body) const;
  void half_sweep(Index plane, int colour, bool from_zero, Index margin);
  /// The cells along an axis within a margin around those that are needed.
  std::array<Index, 2> within(std::size_t axis, Index margin) const {
    const Index n = matrix.layout.cells[axis];
    if (!limited_) return {0, n};
    return {std::max<Index>(0, needed_.begin[axis] - margin), std::min(n, needed_.end[axis] + margin)};
  }
  /// The segments of a plane within a margin.
  std::array<const Segment*, 2> segments_within(Index plane, Index margin) const {
    if constexpr (D == 2) return {matrix.plane_segments(plane), matrix.plane_segments(plane + 1)};
    const auto [begin, end] = within(1, margin);
    const Index first = plane * matrix.layout.rows_per_plane();
    return {matrix.row_segments(first + begin), matrix.row_segments(first + end)};
  }

  parallel::IndexBox<D> needed_;
  bool limited_ = false;
  RowChanges<D> around_;
  /// Whether there are odd seams.
  bool damped_ = false;
};

}  // namespace meniscus::grid
