/// Reference solver for Poisson problems: conjugate gradients with modified incomplete Cholesky.
///
/// Each block of the domain factors the couplings between its own cells; those to other blocks are lumped to the diagonal (block
/// Jacobi). The result depends on the blocks within the tolerance, and so does the number of iterations; both are reproducible
/// for given blocks.
///
/// Source: Selle 2008, sections 3.2 and 8.1.2.
#pragma once

#include "meniscus/grid/poisson/poisson_solver.hpp"

namespace meniscus::grid {

/// Solves for `solver.x` (start and result) to the tolerance; `solver.b` must sum to zero over every closed region. `r`, `p` and
/// `q` are scratch vectors in the layout of the matrix. Collective.
template <int D>
void solve_by_incomplete_cholesky(PoissonSolver<D>& solver, Block<double>& r, Block<double>& p, Block<double>& q,
                                  const numerics::SolveOptions& options, bool start_is_zero, numerics::SolveInfo& info);

}  // namespace meniscus::grid
