/// How an iterative solve went.
#pragma once

#include <string>
#include <vector>

namespace meniscus {

struct SolveInfo {
  int iterations = 0;
  /// Norm of the final residual, computed anew from the solution, relative to that of the right-hand side.
  double residual = 0.0;
  /// The same as the iteration saw it, before the first and after each iteration.
  std::vector<double> history;
  bool converged = false;
  /// Why the iteration ended.
  std::string reason;
  double seconds = 0.0;
};

enum class SolveMethod {
  multigrid,            ///< conjugate gradients over a multigrid cycle
  incomplete_cholesky,  ///< conjugate gradients over modified incomplete Cholesky: serial and not scalable, for comparison
};

struct SolveOptions {
  /// Of the residual norm relative to that of the right-hand side.
  double tolerance = 1e-8;
  int max_iterations = 200;
  SolveMethod method = SolveMethod::multigrid;
};

}  // namespace meniscus
