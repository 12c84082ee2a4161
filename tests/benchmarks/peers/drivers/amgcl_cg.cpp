// AMGCL behind three plain functions: conjugate gradients over smoothed aggregation, for the benchmarks.
//
// The matrix comes in compressed rows with 32-bit columns; AMGCL keeps its own copy.
#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>

#include <malloc.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <tuple>

namespace {

using Backend = amgcl::backend::builtin<double, int, int>;
using Multigrid = amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, amgcl::relaxation::spai0>;
using Solver = amgcl::make_solver<Multigrid, amgcl::solver::cg<Backend>>;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Bytes that the allocator has given out, where it tells.
double allocated() {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 m = mallinfo2();
  return static_cast<double>(m.uordblks) + static_cast<double>(m.hblkhd);
#else
  return 0.0;
#endif
}

}  // namespace

extern "C" {

struct Outcome {
  int iterations, error;
  double residual, seconds, bytes;
};

// `closed`: constants are in the null space, so the coarsest system, which has no unique solution, is smoothed instead of factorised, and
// it has to be small for that.
void* amgcl_setup(int n, const int* rows, const int* columns, const double* values, int closed, double tolerance, int max_iterations,
                  int threads, Outcome* outcome) {
  omp_set_num_threads(threads);
  const double bytes = allocated(), start = now();
  outcome->error = 0;
  try {
    Solver::params p;
    p.solver.tol = tolerance;
    p.solver.maxiter = static_cast<unsigned>(max_iterations);
    p.precond.direct_coarse = !closed;
    if (closed) p.precond.coarse_enough = 20;
    const auto entries = static_cast<std::size_t>(rows[n]);
    auto solver = std::make_unique<Solver>(
        std::make_tuple(n, amgcl::make_iterator_range(rows, rows + n + 1), amgcl::make_iterator_range(columns, columns + entries),
                        amgcl::make_iterator_range(values, values + entries)),
        p);
    outcome->seconds = now() - start;
    outcome->bytes = allocated() - bytes;
    return solver.release();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "AMGCL: %s\n", e.what());
    outcome->error = 1;
    return nullptr;
  }
}

// From zero. AMGCL works on these arrays themselves.
void amgcl_solve(void* handle, int n, double* b, double* x, int threads, Outcome* outcome) {
  omp_set_num_threads(threads);
  std::fill(x, x + n, 0.0);
  const auto& solver = *static_cast<Solver*>(handle);
  outcome->error = 0;
  const double start = now();
  try {
    auto rhs = amgcl::make_iterator_range(b, b + n);
    auto solution = amgcl::make_iterator_range(x, x + n);
    const auto [iterations, residual] = solver(rhs, solution);
    outcome->iterations = static_cast<int>(iterations);
    outcome->residual = residual;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "AMGCL: %s\n", e.what());
    outcome->error = 1;
  }
  outcome->seconds = now() - start;
}

void amgcl_free(void* handle) { delete static_cast<Solver*>(handle); }

}  // extern "C"
