/// Chebyshev smoothing of sparse symmetric positive semi-definite systems.
///
/// The matrix is scaled by the sums of the magnitudes of its rows ("l1 Jacobi"), which bounds the spectrum by one for certain. So
/// no eigenvalue is estimated, and the smoother is positive definite on every matrix.
///
/// Source: Adams et al., "Parallel multigrid smoothing: polynomial versus Gauss-Seidel", 2003; Baker et al., "Multigrid smoothers
/// for ultraparallel computing", 2011 (l1 scaling).
#pragma once

#include "meniscus/numerics/sparse/compressed_rows.hpp"

namespace meniscus::numerics {

struct ChebyshevOptions {
  /// Products with the matrix, plus one, in a sweep from zero.
  int degree = 2;
  /// Lower end of the part of the spectrum that is damped, relative to the upper end.
  double lower_end = 0.15;
};

class ChebyshevSmoother {
 public:
  /// The matrix must stay where it is. Rows of round-off relative to `scale` are left alone.
  void prepare(const CompressedRows& a, const std::vector<double>& scale);

  /// x = S b.
  void from_zero(const double* b, double* x, const ChebyshevOptions& options);
  /// x += S (b - A x): by the symmetry of S the adjoint of a sweep from zero.
  void improve(const double* b, double* x, const ChebyshevOptions& options);

  Index bytes() const { return static_cast<Index>((inverse_.capacity() + step_.capacity()) * sizeof(double)); }

 private:
  void continue_from(const double* b, double* x, int first, const ChebyshevOptions& options);

  const CompressedRows* a_ = nullptr;
  std::vector<double> inverse_;
  std::vector<double> step_;
};

}  // namespace meniscus::numerics
