// Tests of allocations: a repeated projection with a cached solver allocates nothing, with constant or alternating surroundings.
#include "counting_new.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/pressure/projection.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace meniscus;
using meniscus::testing::new_calls;

namespace {

template <class T, int D>
void check_projection() {
  Coord<D> shape;
  for (int d = 0; d < D; ++d) shape[d] = (D == 2 ? 60 : 20) + d;
  std::array<bool, D> periodic{};
  periodic[D - 1] = true;
  const grid::Grid<D> grid(shape, 0.1, Vec<double, D>::Zero(), periodic);
  grid::Boundary<D> boundary;
  boundary[1] = grid::Open{};
  grid::MacField<T, D> velocity(grid, boundary);
  grid::Field<double, D> solid(grid, grid::Stagger<D>::node(), grid::Boundary<D>{}),
      pressure(grid, grid::Stagger<D>::cell(), grid::Boundary<D>{});
  grid::Field<T, D> liquid(grid, grid::Stagger<D>::cell(), grid::Boundary<D>{}),
      density(grid, grid::Stagger<D>::cell(), grid::Boundary<D>{});
  for (Index i = 0; i < solid.storage().size(); ++i) solid.storage()[i] = std::sin(0.37 * static_cast<double>(i % 1009)) + 0.8;
  for (Index i = 0; i < liquid.storage().size(); ++i)
    liquid.storage()[i] = static_cast<T>(std::sin(0.01 * static_cast<double>(i)) - 0.3);
  for (Index i = 0; i < density.storage().size(); ++i) density.storage()[i] = static_cast<T>(1 + i % 3);
  const auto stir = [&] {
    for (int d = 0; d < D; ++d) {
      grid::Field<T, D>& c = velocity.component(d);
      for (Index i = 0; i < c.storage().size(); ++i)
        c.storage()[i] = static_cast<T>(std::sin(0.71 * static_cast<double>(i % 997)));
    }
  };
  std::vector<fluids::PressureProblem<T, D>> problems(5);
  grid::SolidBoundary<T, D> solid_boundary(solid, nullptr, grid::Slip::no_slip);
  problems[1].solid = &solid_boundary;
  problems[2].liquid = &liquid;
  problems[2].air_pressure = 3;
  problems[3].density_field = &density;
  problems[4].solid = &solid_boundary;
  problems[4].liquid = &liquid;
  problems[4].density_field = &density;
  for (auto& problem : problems) problem.pressure = &pressure;

  // A scope like the one that the bindings open around every call.
  const InterruptScope scope([] { return false; });
  for (const fluids::FluxCorrection fix : {fluids::FluxCorrection::volume, fluids::FluxCorrection::walls}) {
    fluids::ProjectionOptions options;
    options.flux_correction = fix;
    options.solve.tolerance = 1e-6;
    fluids::PressureSolver<D> solver(grid);
    fluids::ProjectionReport<D> report;
    for (std::size_t k = 0; k < problems.size(); ++k) {
      CAPTURE(k);
      const auto project = [&] {
        stir();
        solver.template project<T>(velocity, 0.1, problems[k], options, report);
        CHECK(report.solve.converged);
      };
      project();
      const long long before = new_calls();
      stir();
      solver.template project<T>(velocity, 0.1, problems[k], options, report);
      solver.template project<T>(velocity, 0.1, problems[k], options, report);
      CHECK(new_calls() == before);
      CHECK(report.setup_seconds == 0);
    }
  }
}

}  // namespace

TEST_CASE("repeated projections with a kept solver never call operator new") {
  const int before = num_threads();
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    CAPTURE(threads);
    check_projection<double, 2>();
    check_projection<float, 3>();
    check_projection<double, 3>();
  }
  set_num_threads(before);
}
