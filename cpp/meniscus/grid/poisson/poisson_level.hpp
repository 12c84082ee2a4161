/// One level of the Poisson hierarchy in single precision: red-black Gauss-Seidel sweeps and residuals.
///
/// Cells are red or black by the parity of their coordinate sum in the domain. Across a periodic side of odd length two cells of
/// one colour meet; there a half-sweep uses the values from before it, so the result does not depend on any order, and a reversed
/// sequence of half-sweeps remains the adjoint of the sequence. Half of the coupling between the two is added to their diagonals,
/// for otherwise two cells that are coupled to nothing else would only swap their errors, and the cycle would not be definite.
#pragma once

#include "meniscus/grid/poisson/face_matrix.hpp"

#include <array>

namespace meniscus::grid {

/// Half-sweeps per smoothing: two full sweeps.
inline constexpr int half_sweeps = 4;

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
  void half_sweep(Index plane, int colour, bool from_zero);

  RowChanges<D> around_;
  /// Whether there are odd seams.
  bool damped_ = false;
};

}  // namespace meniscus::grid
