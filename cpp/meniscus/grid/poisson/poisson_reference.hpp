/// Reference solver for Poisson problems: conjugate gradients with modified incomplete Cholesky on an assembled sparse matrix.
#pragma once

#include "meniscus/grid/poisson/poisson_regions.hpp"
#include "meniscus/numerics/solve_info.hpp"

namespace meniscus::grid {

/// Solves for x (start and result, laid out as the matrix says) to the tolerance; b must sum to zero over every closed region.
template <int D>
void solve_by_incomplete_cholesky(const FaceMatrix<double, D>& matrix, const PoissonRegions<D>& regions, const Block<double>& b,
                                  Block<double>& x, const numerics::SolveOptions& options, numerics::SolveInfo& info);

}  // namespace meniscus::grid
