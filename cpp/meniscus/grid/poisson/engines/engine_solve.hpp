/// Poisson solves by another library, to a residual that is computed here.
#pragma once

#include "meniscus/grid/poisson/poisson_solver.hpp"

namespace meniscus::grid {

/// Solves for `solver.x` (start and result) to the tolerance; `solver.b` must sum to zero over every closed region. The library
/// solves for corrections to what is left, until the residual of the sum is small enough; `info.history` has a norm for each of
/// these passes. `r` and `p` are scratch vectors in the layout of the matrix. Collective.
template <int D>
void solve_by_engine(PoissonSolver<D>& solver, EngineSystem<D>& system, Block<double>& r, Block<double>& p,
                     const numerics::SolveOptions& options, bool start_is_zero, numerics::SolveInfo& info);

}  // namespace meniscus::grid
