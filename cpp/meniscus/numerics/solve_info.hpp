/// Report of an iterative solve.
#pragma once

#include <string>
#include <string_view>
#include <vector>

struct meniscus_structured_engine;

namespace meniscus::numerics {

/// Why an iteration ended.
enum class SolveEnd {
  none,
  converged,
  zero_right_hand_side,
  iteration_limit,
  round_off,
  not_a_number,
  indefinite_matrix,
  indefinite_preconditioner,
};

constexpr std::string_view describe(SolveEnd end) {
  switch (end) {
    case SolveEnd::none:
      break;
    case SolveEnd::converged:
      return "converged";
    case SolveEnd::zero_right_hand_side:
      return "the right-hand side is zero";
    case SolveEnd::iteration_limit:
      return "the limit of iterations was reached";
    case SolveEnd::round_off:
      return "rounding errors allow no smaller residual";
    case SolveEnd::not_a_number:
      return "a value that is no number appeared";
    case SolveEnd::indefinite_matrix:
      return "the matrix is not positive definite";
    case SolveEnd::indefinite_preconditioner:
      return "the preconditioner is not positive definite";
  }
  return "not begun";
}

struct SolveInfo {
  int iterations = 0;
  /// Norm of the final residual, computed anew from the solution, relative to that of the right-hand side.
  double residual = 0.0;
  /// The residual norm of the iteration itself, before the first and after each iteration.
  std::vector<double> history;
  bool converged = false;
  SolveEnd end = SolveEnd::none;
  double seconds = 0.0;
};

enum class SolveMethod {
  multigrid,            ///< conjugate gradients over a multigrid cycle
  engine,               ///< that of another library, for comparison; see SolveOptions::engine
  incomplete_cholesky,  ///< conjugate gradients over modified incomplete Cholesky of each block: not scalable, for comparison
};

struct SolveOptions {
  /// Bound of the residual norm relative to that of the right-hand side.
  double tolerance = 1e-8;
  int max_iterations = 200;
  SolveMethod method = SolveMethod::multigrid;
  /// Sums that do not depend on the order of their terms, for some time more: the solution of one block is then bit-identical to
  /// that of any blocks of the domain. Solves of ranks, also of a single one, always have them.
  bool order_free = false;
  /// Functions of the other library (grid/poisson/engines/structured_engine.hpp), where the method asks for it.
  const meniscus_structured_engine* engine = nullptr;
};

}  // namespace meniscus::numerics
