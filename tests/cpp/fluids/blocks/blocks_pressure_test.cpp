// Pressure projections and a gas that they drive, on domains cut into blocks: bit-identical to a single block.
#include "grid/blocks/cut_domains.hpp"

#include "meniscus/fluids/gas/buoyancy.hpp"
#include "meniscus/fluids/pressure/projection.hpp"
#include "meniscus/fluids/vorticity/vorticity.hpp"
#include "meniscus/fluids/vorticity/vorticity_confinement.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/masked_samples.hpp"
#include "meniscus/grid/transport/advect.hpp"
#include "meniscus/grid/transport/advection_scheme.hpp"

#include <cmath>
#include <mutex>

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;

namespace {

/// Walls, and one open side.
template <int D>
Boundary<D> box(bool open) {
  Boundary<D> sides{};
  if (open) sides[1] = Open{.pressure = 0.3};
  return sides;
}

/// A ball in the middle and a plate that closes a part of the domain off, on nodes.
template <int D>
void set_solid(Field<double, D>& phi) {
  const Grid<D>& grid = phi.grid();
  for_each_sample<D>(phi.extents(), 0, [&](const Coord<D>& c) {
    double ball = 0, plate = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const double n = static_cast<double>(grid.shape()[d]), at = static_cast<double>(c[d] + grid.first_cell()[d]);
      ball += std::pow(at - 0.4 * n, 2);
      if (d == 0) plate = std::abs(at - 0.8 * n) - 0.6;
    }
    *phi.view().at(c) = grid.spacing() * std::min(std::sqrt(ball) - 1.9, plate);
  });
  poison_ghosts(phi);
  phi.fill_ghosts(0.0);
}

struct Case {
  bool solid, liquid, density, open;
  fluids::FluxCorrection correction = fluids::FluxCorrection::volume;
};

/// What the report says, as numbers.
template <int D>
std::vector<double> numbers_of(const fluids::ProjectionReport<D>& report) {
  std::vector<double> all(report.solve.history);
  for (const auto& r : report.regions) {
    for (const double v : {static_cast<double>(r.cells), static_cast<double>(r.closed), r.flux, r.residual}) all.push_back(v);
    for (const Index k : r.first_cell) all.push_back(static_cast<double>(k));
  }
  return all;
}

/// Expects that all blocks and the single one say the same.
class SameNumbers {
 public:
  void say(const std::vector<double>& numbers) {
    const std::lock_guard lock(mutex_);
    if (said_.empty()) said_ = numbers;
    others_ += said_ != numbers;
  }
  int others() const { return others_; }

 private:
  std::mutex mutex_;
  std::vector<double> said_;
  int others_ = 0;
};

template <class T, int D>
void check_projection(const Case& what) {
  std::vector<Stagger<D>> places{Stagger<D>::cell()};
  for (int d = 0; d < D; ++d) places.push_back(Stagger<D>::face(d));
  for (const auto& domain : cut_domains<D>()) {
    SameNumbers reports;
    check_same_bits<T, D>(domain, places, [&](const Grid<D>& grid, WholeFields<T, D>& result) {
      MacField<T, D> velocity(grid, box<D>(what.open));
      fill_random(velocity, 3);
      Field<double, D> phi(grid, Stagger<D>::node(), mirrors<D>()), pressure(grid, Stagger<D>::cell(), mirrors<D>());
      set_solid(phi);
      SolidBoundary<T, D> solid(phi, nullptr, Slip::free);
      Field<T, D> liquid(grid, Stagger<D>::cell(), mirrors<D>()), density(grid, Stagger<D>::cell(), mirrors<D>());
      fill_random(liquid, 4, grid.spacing());
      for_each_sample<D>(liquid.extents(), 0, [&](const Coord<D>& c) {
        *liquid.view().at(c) -= static_cast<T>(0.4 * grid.spacing());
        *density.view().at(c) = static_cast<T>(2.0 + number_of<D>(density.layout(), c, 5));
      });
      fluids::PressureProblem<T, D> problem;
      problem.solid = what.solid ? &solid : nullptr;
      problem.liquid = what.liquid ? &liquid : nullptr;
      problem.density_field = what.density ? &density : nullptr;
      problem.pressure = &pressure;
      problem.air_pressure = what.liquid ? 11.0 : 0.0;
      fluids::ProjectionOptions options;
      options.solve.tolerance = 1e-10;
      options.solve.order_free = true;
      options.flux_correction = what.correction;
      fluids::ProjectionReport<D> report;
      fluids::PressureSolver<D> solver(grid);
      solver.project(velocity, 0.1, problem, options, report);
      reports.say(numbers_of(report));
      // Again, from the pressure, with another velocity; in one block alone the liquid has changed.
      fill_random(velocity, 6);
      if (what.liquid && grid.first_cell() == Coord<D>{}) *liquid.view().at(Coord<D>{}) = -static_cast<T>(grid.spacing());
      problem.warm_start = true;
      solver.project(velocity, 0.1, problem, options, report);
      reports.say({static_cast<double>(report.solve.converged)});
      Field<T, D> p(grid, Stagger<D>::cell(), mirrors<D>());
      for_each_sample<D>(p.extents(), 0, [&](const Coord<D>& c) { *p.view().at(c) = static_cast<T>(*pressure.view().at(c)); });
      result[0].put(p);
      for (int d = 0; d < D; ++d) result[static_cast<std::size_t>(d) + 1].put(velocity.component(d));
    });
  }
}

}  // namespace

TEST_CASE("projections on domains cut into blocks are bit-identical to a single block") {
  for (const Case& what : {Case{false, false, false, false}, Case{true, false, false, false},
                           Case{true, false, false, false, fluids::FluxCorrection::walls}, Case{false, true, false, false},
                           Case{true, true, true, true}, Case{false, false, true, true}}) {
    CAPTURE(what.solid);
    CAPTURE(what.liquid);
    CAPTURE(what.density);
    check_projection<double, 2>(what);
    check_projection<float, 3>(what);
  }
}

TEST_CASE("a rising gas on domains cut into blocks is bit-identical to a single block after many steps") {
  for (const auto& domain : cut_domains<3>()) {
    std::vector<Stagger<3>> places{Stagger<3>::cell()};
    for (int d = 0; d < 3; ++d) places.push_back(Stagger<3>::face(d));
    SameNumbers measures;
    check_same_bits<float, 3>(domain, places, [&](const Grid<3>& grid, WholeFields<float, 3>& result) {
      MacField<float, 3> velocity(grid, Boundary<3>{});
      Field<float, 3> density(grid, Stagger<3>::cell(), mirrors<3>()), heat(grid, Stagger<3>::cell(), mirrors<3>());
      Field<double, 3> phi(grid, Stagger<3>::node(), mirrors<3>()), pressure(grid, Stagger<3>::cell(), mirrors<3>());
      set_solid(phi);
      SolidBoundary<float, 3> solid(phi, nullptr, Slip::free);
      fluids::PressureSolver<3> solver(grid);
      fluids::PressureProblem<float, 3> problem;
      problem.solid = &solid;
      problem.pressure = &pressure;
      problem.warm_start = true;
      fluids::ProjectionReport<3> report;
      fluids::ProjectionOptions order_free;
      order_free.solve.order_free = true;
      fluids::Buoyancy<3> buoyancy;
      buoyancy.up = {0.0, 0.0, 9.81};
      buoyancy.density_weight = 0.2;
      buoyancy.temperature_weight = 0.5;
      AdvectOptions options;
      options.scheme = &schemes::maccormack;
      Workspace workspace;
      double time = 0.0;
      for (int step = 0; step < 12; ++step) {
        const double speed = max_component_speed(velocity);
        const double dt = std::min(0.1, 2.5 * grid.spacing() / std::max(speed, 1e-9));
        for_each_sample<3>(density.extents(), 0, [&](const Coord<3>& c) {
          if (c[2] + grid.first_cell()[2] > 2) return;
          *density.view().at(c) = 1.0f;
          *heat.view().at(c) = static_cast<float>(2.0 + number_of<3>(heat.layout(), c, 8));
        });
        options.time = time;
        advect(density, velocity, dt, options, AdvectMasks{}, workspace);
        advect(heat, velocity, dt, options, AdvectMasks{}, workspace);
        advect<float, 3>(velocity, velocity, dt, options, {}, workspace);
        fluids::add_buoyancy(velocity, &density, &heat, buoyancy, dt, time);
        fluids::add_vorticity_confinement(velocity, dt, 0.3, &solid, time, workspace);
        solver.project(velocity, dt, problem, order_free, report);
        time += dt;
        poison_ghosts(velocity);
      }
      measures.say({time, fluids::kinetic_energy(velocity), fluids::enstrophy(velocity, time), sum_samples(density, nullptr),
                    sum_samples(velocity.component(1), nullptr), static_cast<double>(report.solve.iterations)});
      result[0].put(density);
      for (int d = 0; d < 3; ++d) result[static_cast<std::size_t>(d) + 1].put(velocity.component(d));
    });
    CHECK(measures.others() == 0);
  }
}
