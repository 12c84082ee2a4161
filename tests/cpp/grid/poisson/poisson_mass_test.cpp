// Tests of mass terms on coarse levels: a coarse cell has the mass of its fine cells, and a mass is no Dirichlet condition.
#include "poisson_problems.hpp"

#include "meniscus/grid/poisson/poisson_coarsening.hpp"
#include "meniscus/grid/poisson/poisson_regions.hpp"

#include <doctest/doctest.h>

using namespace meniscus;
using namespace meniscus::testing;

namespace {

/// An eighth, so that sums are exact in single precision.
constexpr double mass = 0.125;

template <class C, int D, class Body>
void for_each_unknown(const grid::FaceMatrix<C, D>& a, Body&& body) {
  for (Index r = 0; r < a.layout.rows(); ++r)
    for (Index i = a.layout.row(r); i < a.layout.row(r) + a.layout.cells[D - 1]; ++i)
      if (a.active[i]) body(i);
}

template <int D>
grid::FaceMatrix<float, D> single_precision(const grid::FaceMatrix<double, D>& a) {
  grid::FaceMatrix<float, D> to;
  to.reset(a.layout, true);
  for (std::size_t d = 0; d < D; ++d) to.open_coupling[d] = static_cast<float>(a.open_coupling[d]);
  to.mass = static_cast<float>(a.mass);
  for (Index i = 0; i < a.layout.size; ++i) {
    for (std::size_t d = 0; d < D; ++d) to.faces[d][i] = static_cast<float>(a.faces[d][i]);
    to.diagonal[i] = static_cast<float>(a.diagonal[i]);
  }
  to.finish();
  return to;
}

template <int D>
void check(PoissonProblem<D> problem) {
  INFO(problem.name);
  problem.mass = mass;
  grid::FaceMatrix<double, D> matrix;
  fill(problem, matrix);
  matrix.finish();
  CHECK(matrix.unknowns == matrix.layout.count());
  grid::PoissonRegions<D> regions;
  regions.find(matrix);
  CHECK(!regions.any_closed());
  grid::FaceMatrix<float, D> fine = single_precision(matrix);
  while (fine.layout.count() > 1) {
    grid::FaceMatrix<float, D> coarse;
    grid::CellJoining<D> joining;
    grid::PoissonCoarsening<D>::run(fine, coarse, joining);
    double owned = 0, sum = 0;
    bool positive = true;
    for_each_unknown(fine, [&](Index i) { owned += joining.owner[i] != grid::CellJoining<D>::none ? fine.mass_of(i) : 0.0; });
    for_each_unknown(coarse, [&](Index i) {
      sum += coarse.mass_of(i);
      positive &= coarse.mass_of(i) > 0;
    });
    CHECK(sum == owned);
    CHECK(positive);
    fine = coarse;
  }
}

template <int D>
void check_all() {
  for (const PoissonProblem<D>& problem : poisson_problems<D>())
    if (problem.has_faces) check(problem);
}

}  // namespace

TEST_CASE("coarse cells have the mass of the cells that they are joined from") {
  check_all<2>();
  check_all<3>();
}
