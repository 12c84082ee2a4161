// Self-test of the Poisson system: it passes at the round-off of its two precisions.
#include "poisson_problems.hpp"

#include "meniscus/grid/poisson/poisson_solver.hpp"
#include "meniscus/numerics/system_probe.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace meniscus;
using namespace meniscus::testing;

namespace {

template <int D>
Block<double> random_unknowns(const grid::FaceMatrix<double, D>& a, std::uint64_t seed) {
  Block<double> v(a.layout.size);
  for (Index i = 0; i < a.layout.size; ++i) v[i] = 0;
  for (Index r = 0; r < a.layout.rows(); ++r)
    for (Index i = a.layout.row(r); i < a.layout.row(r) + a.layout.cells[D - 1]; ++i)
      if (a.active[i]) v[i] = noise(seed, static_cast<std::uint64_t>(i));
  return v;
}

template <int D>
void check_systems() {
  for (const PoissonProblem<D>& problem : poisson_problems<D>()) {
    CAPTURE(problem.name);
    grid::PoissonSolver<D> solver;
    fill(problem, solver.matrix);
    solver.prepare();
    REQUIRE(solver.matrix.unknowns > 0);
    const numerics::SystemDefects defects = numerics::probe_system(solver, solver.hierarchy().finest().x, [&](int n) {
      return random_unknowns<D>(solver.matrix, static_cast<std::uint64_t>(100 + n));
    });
    CHECK(defects.multiply_symmetry < 1e-14);
    CHECK(defects.multiply_definiteness > 0);
    CHECK(defects.range < 1e-13);
    CHECK(defects.null_space < 1e-13);
    CHECK(defects.projection_symmetry < 1e-14);
    CHECK(defects.projection_idempotence < 1e-14);
    CHECK(defects.precondition_symmetry < 1e-5);
    CHECK(defects.precondition_additivity < 1e-5);
    CHECK(defects.precondition_definiteness > 1e-3);
  }
}

/// Sets the unknowns alone, as users of a solver do, and solves.
template <int D>
numerics::SolveInfo solve(grid::PoissonSolver<D>& solver) {
  const grid::FaceMatrix<double, D>& a = solver.matrix;
  for (Index r = 0; r < a.layout.rows(); ++r)
    for (Index i = a.layout.row(r); i < a.layout.row(r) + a.layout.cells[D - 1]; ++i)
      if (a.active[i]) solver.b[i] = noise(9, static_cast<std::uint64_t>(i));
  numerics::SolveInfo info;
  solver.solve({}, true, info);
  return info;
}

/// What memory held before a solver was prepared must not matter, in whatever lies around the cells either.
template <int D>
void check_old_memory() {
  for (const PoissonProblem<D>& problem : poisson_problems<D>()) {
    CAPTURE(problem.name);
    grid::PoissonSolver<D> solver;
    fill(problem, solver.matrix);
    solver.prepare();
    const numerics::SolveInfo expected = solve(solver);
    const float nothing = std::numeric_limits<float>::quiet_NaN();
    std::fill(solver.b.begin(), solver.b.end(), static_cast<double>(nothing));
    std::fill(solver.x.begin(), solver.x.end(), static_cast<double>(nothing));
    std::fill(solver.hierarchy().finest().b.begin(), solver.hierarchy().finest().b.end(), nothing);
    std::fill(solver.hierarchy().finest().x.begin(), solver.hierarchy().finest().x.end(), nothing);
    std::fill(solver.hierarchy().finest().residual.begin(), solver.hierarchy().finest().residual.end(), nothing);
    solver.prepare();
    const numerics::SolveInfo again = solve(solver);
    CHECK(again.history == expected.history);
    CHECK(again.residual == expected.residual);
  }
}

}  // namespace

TEST_CASE("Poisson systems are symmetric, positive and project onto what they can produce") {
  check_systems<2>();
  check_systems<3>();
}

TEST_CASE("Poisson solves do not depend on what memory held before") {
  check_old_memory<2>();
  check_old_memory<3>();
}
