// Preparing what depends on changed rows alone gives the bits of preparing everything, and derives no other rows.
#include "poisson_problems.hpp"

#include "meniscus/grid/poisson/poisson_solver.hpp"

#include <doctest/doctest.h>

#include <cstring>

using namespace meniscus;
using namespace meniscus::testing;

namespace {

/// The problem with other coefficients and unknowns in a box of cells.
template <int D>
PoissonProblem<D> changed_in(const PoissonProblem<D>& problem, const Coord<D>& first, const Coord<D>& size, std::uint64_t seed) {
  const auto inside = [=](const Coord<D>& c) {
    bool in = true;
    for (std::size_t d = 0; d < D; ++d) in &= c[d] >= first[d] && c[d] < first[d] + size[d];
    return in;
  };
  PoissonProblem<D> other = problem;
  if (problem.has_faces)
    other.coefficient = [=, before = problem.coefficient](int d, const Coord<D>& c) {
      if (!inside(c)) return before(d, c);
      std::uint64_t id = seed + static_cast<std::uint64_t>(d);
      for (const Index k : c) id = id * 1009 + static_cast<std::uint64_t>(k);
      const double w = noise(seed, id);
      return w < -0.5 ? 0.0 : w < 0 ? 1.0 : w;
    };
  other.unknown = [=, before = problem.unknown](const Coord<D>& c) {
    std::uint64_t id = seed;
    for (const Index k : c) id = id * 1013 + static_cast<std::uint64_t>(k);
    return before(c) != (inside(c) && noise(seed, id) < -0.3);
  };
  return other;
}

template <int D, class C>
bool same_rows(const grid::CellLayout<D>& layout, const Block<C>& a, const Block<C>& b) {
  if (a.size() != b.size()) return false;
  bool same = true;
  for (Index r = 0; r < layout.rows() && a.size() > 0; ++r)
    same &= std::memcmp(a.data() + layout.row(r), b.data() + layout.row(r),
                        static_cast<std::size_t>(layout.cells[D - 1]) * sizeof(C)) == 0;
  return same;
}

template <class C, int D>
void check_same(const grid::FaceMatrix<C, D>& a, const grid::FaceMatrix<C, D>& b) {
  for (std::size_t d = 0; d < D; ++d) CHECK(same_rows<D>(a.layout, a.faces[d], b.faces[d]));
  CHECK(same_rows<D>(a.layout, a.diagonal, b.diagonal));
  CHECK(same_rows<D>(a.layout, a.active, b.active));
  CHECK(same_rows<D>(a.layout, a.rough, b.rough));
  CHECK(a.unknowns == b.unknowns);
  CHECK(a.row_begin == b.row_begin);
  REQUIRE(a.segments.size() == b.segments.size());
  bool same = true;
  for (std::size_t n = 0; n < a.segments.size(); ++n)
    same &= a.segments[n].index == b.segments[n].index && a.segments[n].blocks == b.segments[n].blocks &&
            a.segments[n].kind == b.segments[n].kind && a.segments[n].parity == b.segments[n].parity;
  CHECK(same);
}

template <int D>
numerics::SolveInfo solve(grid::PoissonSolver<D>& solver) {
  const grid::FaceMatrix<double, D>& a = solver.matrix;
  for (Index r = 0; r < a.layout.rows(); ++r)
    for (Index i = a.layout.row(r); i < a.layout.row(r) + a.layout.cells[D - 1]; ++i)
      solver.b[i] = a.active[i] ? noise(9, static_cast<std::uint64_t>(i)) : 0.0;
  numerics::SolveInfo info;
  solver.solve({}, true, info);
  return info;
}

template <int D>
void check_same_solvers(grid::PoissonSolver<D>& a, grid::PoissonSolver<D>& b) {
  check_same<double, D>(a.matrix, b.matrix);
  REQUIRE(a.hierarchy().levels() == b.hierarchy().levels());
  for (int l = 0; l < a.hierarchy().levels(); ++l) {
    CAPTURE(l);
    check_same<float, D>(a.hierarchy().level(l).matrix, b.hierarchy().level(l).matrix);
    CHECK(same_rows<D>(a.hierarchy().level(l).matrix.layout, a.hierarchy().level(l).inverse_diagonal,
                       b.hierarchy().level(l).inverse_diagonal));
  }
  REQUIRE(a.regions().regions().size() == b.regions().regions().size());
  for (std::size_t n = 0; n < a.regions().regions().size(); ++n) {
    CHECK(a.regions().regions()[n].cells == b.regions().regions()[n].cells);
    CHECK(a.regions().regions()[n].closed == b.regions().regions()[n].closed);
  }
  CHECK(solve(a).history == solve(b).history);
  CHECK(same_rows<D>(a.matrix.layout, a.x, b.x));
}

/// The rows beside faces, or with diagonals, that differ.
template <int D>
Index rows_that_differ(const grid::FaceMatrix<double, D>& a, const grid::FaceMatrix<double, D>& b) {
  Index rows = 0;
  for (Index r = 0; r < a.layout.rows(); ++r) {
    bool differs = false;
    for (Index i = a.layout.row(r); i < a.layout.row(r) + a.layout.cells[D - 1]; ++i) {
      differs |= a.diagonal[i] != b.diagonal[i];
      for (std::size_t d = 0; d < D && a.has_faces; ++d)
        differs |= a.faces[d][i] != b.faces[d][i] || a.faces[d][i + a.layout.strides[d]] != b.faces[d][i + a.layout.strides[d]];
    }
    rows += differs;
  }
  return rows;
}

template <int D>
void check_changes() {
  std::uint64_t seed = 40;
  for (const PoissonProblem<D>& problem : poisson_problems<D>()) {
    CAPTURE(problem.name);
    // Many planes concern sweeps alone.
    if (problem.name.ends_with("slabs")) continue;
    const Coord<D> n = problem.layout.cells;
    grid::PoissonSolver<D> solver, before;
    fill(problem, solver.matrix);
    solver.prepare();
    solve(solver);
    PoissonProblem<D> now = problem;
    // In the middle, at a corner, and back again, in one solver one after the other.
    for (int turn = 0; turn < 3; ++turn) {
      CAPTURE(turn);
      Coord<D> first{}, size{};
      for (std::size_t d = 0; d < D; ++d) {
        size[d] = std::max<Index>(1, n[d] / 5);
        first[d] = turn == 0 ? 2 * size[d] : 0;
      }
      fill(now, before.matrix);
      now = turn == 2 ? problem : changed_in<D>(problem, first, size, seed++);
      grid::RowChanges<D> changes;
      fill(now, solver.matrix, &changes);
      solver.prepare(changes);
      CHECK(solver.hierarchy().changes(0).count() == rows_that_differ(before.matrix, solver.matrix));
      for (int l = 0; l + 1 < solver.hierarchy().levels(); ++l) {
        // Blocks know their neighbours up to three away.
        grid::RowChanges<D> around;
        around.coarsen(solver.hierarchy().changes(l), grid::BlockGeometry<D>(solver.hierarchy().level(l).matrix.layout));
        for (int k = 0; k < 3; ++k) around.widen();
        CHECK(solver.hierarchy().changes(l + 1).count() <= around.count());
      }
      grid::PoissonSolver<D> fresh;
      fill(now, fresh.matrix);
      fresh.prepare();
      check_same_solvers(solver, fresh);
    }
  }
}

}  // namespace

TEST_CASE("Poisson hierarchies derive anew only what depends on changed rows, to the same bits") {
  check_changes<2>();
  check_changes<3>();
}

TEST_CASE("a changed face concerns the rows beside it") {
  PoissonProblem<3> problem{"box", grid::CellLayout<3>({24, 40, 32}, {false, false, false}), true, {}, {}};
  problem.coefficient = [](int, const Coord<3>&) { return 1.0; };
  for (const int axis : {0, 1, 2}) {
    grid::PoissonSolver<3> solver;
    fill(problem, solver.matrix);
    solver.prepare();
    PoissonProblem<3> other = problem;
    other.coefficient = [axis](int d, const Coord<3>& c) { return d == axis && c == Coord<3>{11, 21, 9} ? 0.25 : 1.0; };
    grid::RowChanges<3> changes;
    fill(other, solver.matrix, &changes);
    solver.prepare(changes);
    CHECK(solver.hierarchy().changes(0).count() == (axis == 2 ? 1 : 2));
    CHECK(solver.hierarchy().changes(1).count() <= 64);
    fill(other, solver.matrix, &changes);
    CHECK(!changes.any());
  }
}

TEST_CASE("a solver takes another layout of the same size") {
  PoissonProblem<2> one{"droplets", grid::CellLayout<2>({94, 48}, {false, true}), false, {}, {}};
  one.unknown = [](const Coord<2>& c) { return noise(5, static_cast<std::uint64_t>(c[0] * 10007 + c[1])) > -0.4; };
  PoissonProblem<2> two = one;
  two.layout = grid::CellLayout<2>({46, 112}, {true, false});
  REQUIRE(one.layout.size == two.layout.size);
  grid::PoissonSolver<2> solver, fresh;
  fill(one, solver.matrix);
  solver.prepare();
  solve(solver);
  fill(two, solver.matrix);
  solver.prepare();
  fill(two, fresh.matrix);
  fresh.prepare();
  check_same_solvers(solver, fresh);
}
