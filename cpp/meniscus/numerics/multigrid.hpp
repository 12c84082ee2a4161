/// Multigrid cycles over abstract levels.
#pragma once

#include <concepts>

namespace meniscus::numerics {

/// Levels 0 (finest) to levels() - 1 (coarsest). Each level holds a right-hand side and a solution of its own.
template <class H>
concept MultigridLevels = requires(H h, int level) {
  { h.levels() } -> std::convertible_to<int>;
  /// Smooths the solution, starting from zero.
  h.smooth_from_zero(level);
  /// Restricts the residual of `level` to the right-hand side of `level + 1`.
  h.restrict_residual(level);
  /// Adds the solution of `level + 1`, interpolated, to that of `level`.
  h.add_correction(level);
  /// Smooths by the adjoint of smooth_from_zero.
  h.smooth_adjoint(level);
  /// Solves the coarsest level.
  h.solve_coarsest();
};

/// One V-cycle from a zero solution: a symmetric preconditioner where the transfers are each other's transpose.
template <MultigridLevels H>
void v_cycle(H& h) {
  const int last = h.levels() - 1;
  for (int level = 0; level < last; ++level) {
    h.smooth_from_zero(level);
    h.restrict_residual(level);
  }
  h.solve_coarsest();
  for (int level = last - 1; level >= 0; --level) {
    h.add_correction(level);
    h.smooth_adjoint(level);
  }
}

}  // namespace meniscus::numerics
