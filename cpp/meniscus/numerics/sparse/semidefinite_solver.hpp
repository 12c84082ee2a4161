/// Direct solver of small symmetric positive semi-definite systems.
#pragma once

#include "meniscus/numerics/sparse/compressed_rows.hpp"

namespace meniscus::numerics {

/// A = L D L^T of a dense matrix. A pivot that is round-off belongs to the null space: the unknown is set to zero. The result is
/// then a symmetric positive semi-definite generalised inverse, exact for all right-hand sides that can be solved for.
class SemidefiniteSolver {
 public:
  /// `scale` as for `StrongCouplings`.
  void factor(const CompressedRows& a, const std::vector<double>& scale);
  /// x = A^+ b; x and b differ.
  void solve(const double* b, double* x) const;
  Index bytes() const { return static_cast<Index>((lower_.capacity() + inverse_pivot_.capacity()) * sizeof(double)); }

 private:
  /// Rows of L below the diagonal, n values each.
  std::vector<double> lower_;
  /// Zero for those in the null space.
  std::vector<double> inverse_pivot_;
};

}  // namespace meniscus::numerics
