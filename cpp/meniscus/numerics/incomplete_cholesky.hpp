/// Modified incomplete Cholesky factorisation without fill-in: the reference preconditioner.
///
/// Source: Selle 2008, section 3.2 (the solver); the parameters are those in common use for fluids (tau = 0.97, sigma = 0.25).
#pragma once

#include "meniscus/core/types.hpp"

#include <Eigen/SparseCore>

#include <vector>

namespace meniscus::numerics {

class IncompleteCholesky {
 public:
  using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, Index>;

  struct Options {
    /// Share of the dropped fill-in that is added to the diagonal, which keeps row sums.
    double modification = 0.97;
    /// A pivot below this share of the diagonal is replaced by the diagonal.
    double safety = 0.25;
  };

  /// Factors a symmetric matrix with sorted rows. Throws InvalidArgument where it is not square or a diagonal entry is not
  /// positive.
  void factor(const Matrix& a, const Options& options);

  /// z = (L L^T)^-1 r. Serial: each unknown needs the ones before it.
  void solve(const double* r, double* z) const;

 private:
  Matrix lower_;
  std::vector<double> inverse_diagonal_;
};

}  // namespace meniscus::numerics
