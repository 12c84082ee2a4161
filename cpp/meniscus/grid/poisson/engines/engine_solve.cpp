#include "meniscus/grid/poisson/engines/engine_solve.hpp"

#include "meniscus/core/cancellation.hpp"

namespace meniscus::grid {

template <int D>
void solve_by_engine(PoissonSolver<D>& solver, EngineSystem<D>& system, Block<double>& r, Block<double>& p,
                     const numerics::SolveOptions& options, bool start_is_zero, numerics::SolveInfo& info) {
  // So much of the tolerance is left for rounding in the sum of the corrections.
  constexpr double safety = 0.9;
  info = {};
  const double norm_b = std::sqrt(solver.inner_product(solver.b, solver.b));
  if (norm_b == 0) {
    solver.combine(0.0, solver.b, 0.0, solver.x);
    info.history.push_back(0.0);
    info.converged = true;
    info.end = numerics::SolveEnd::zero_right_hand_side;
    return;
  }
  bool singular = false;
  for (const auto& region : solver.regions().regions()) singular |= region.closed;
  system.set(solver.matrix, singular);
  const double goal = options.tolerance * norm_b;
  double norm = norm_b;
  if (start_is_zero)
    solver.combine(1.0, solver.b, 0.0, r);
  else
    norm = std::sqrt(solver.residual(solver.x, solver.b, r));
  info.history.push_back(norm / norm_b);
  while (norm > goal && info.iterations < options.max_iterations && info.end == numerics::SolveEnd::none) {
    check_interrupt();
    solver.project(r);
    info.iterations +=
        system.solve(solver.matrix, r, p, std::min(0.5, safety * goal / norm), options.max_iterations - info.iterations);
    solver.combine(1.0, p, 1.0, solver.x);
    solver.project(solver.x);
    const double before = norm;
    norm = std::sqrt(solver.residual(solver.x, solver.b, r));
    info.history.push_back(norm / norm_b);
    if (std::isnan(norm))
      info.end = numerics::SolveEnd::not_a_number;
    else if (norm > goal && norm > 0.5 * before)
      info.end = numerics::SolveEnd::round_off;
  }
  // What kernels read beyond cells stays zero.
  std::fill(p.begin(), p.end(), 0.0);
  info.residual = norm / norm_b;
  info.converged = norm <= goal;
  if (info.converged)
    info.end = numerics::SolveEnd::converged;
  else if (info.end == numerics::SolveEnd::none)
    info.end = numerics::SolveEnd::iteration_limit;
}

#define MENISCUS_INSTANTIATE(D)                                                                         \
  template void solve_by_engine<D>(PoissonSolver<D>&, EngineSystem<D>&, Block<double>&, Block<double>&, \
                                   const numerics::SolveOptions&, bool, numerics::SolveInfo&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
