// Tests of allocations: a repeated step with a reused workspace allocates nothing, whatever the integrator.
#include "counting_new.hpp"
#include "solids/chain_force.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/solids/integrators/integrators.hpp"
#include "meniscus/solids/integrators/time_step.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace meniscus;
using meniscus::testing::ChainForce;
using meniscus::testing::new_calls;

namespace {

constexpr Index count = 3000;

void set_up(solids::DeformableBody& body, double damping) {
  body.add(std::make_shared<ChainForce>(count, 0.01, 50.0, damping));
  body.set_gravity(mesh::Point(0, -9.8, 0));
  const std::array<std::int32_t, 1> first{0}, last{static_cast<std::int32_t>(count - 1)}, middle{500};
  const std::array<mesh::Point, 1> normal{mesh::Point(0.3, 0.4, 0.5)};
  body.constraints().fix(first);
  body.constraints().move(last);
  body.constraints().slide(middle, normal);
  for (std::size_t i = 0; i < body.velocities().size(); ++i)
    body.velocities()[i] = mesh::Point(std::sin(0.1 * static_cast<double>(i)), 0, 0);
}

}  // namespace

TEST_CASE("repeated steps of a body with a kept workspace never call operator new") {
  std::vector<mesh::Point> x;
  for (Index i = 0; i < count; ++i) x.emplace_back(0.0101 * static_cast<double>(i), 0.0, 0.0);
  const std::vector<double> masses(static_cast<std::size_t>(count), 0.01);
  const std::vector<mesh::Point> at{mesh::Point(0.0101 * (count - 1), 0.1, 0)}, velocity{mesh::Point(0, 1, 0)};
  const solids::NodeMotion motion{at, at, velocity, velocity, velocity};
  // A scope like the one that the bindings open around every call.
  const InterruptScope scope([] { return false; });
  const int before = num_threads();
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const double damping : {0.0, 0.02})
      for (int kind = 0; kind <= static_cast<int>(solids::Integrator::implicit_euler) + 1; ++kind) {
        CAPTURE(threads);
        CAPTURE(damping);
        CAPTURE(kind);
        solids::DeformableBody body(x, masses);
        set_up(body, damping);
        const bool linearised = kind > static_cast<int>(solids::Integrator::implicit_euler);
        const auto integrator = static_cast<solids::Integrator>(kind - linearised);
        solids::StepOptions options;
        options.newton = !linearised;
        options.accept_unconverged = true;
        options.max_newton = 4;
        if (damping > 0) options.elasticity = solids::ImplicitElasticity::half_step;
        Workspace workspace;
        solids::StepReport report;
        const auto step = [&] {
          solids::take_step(body, integrator, 1e-3, motion, options, workspace, report);
          solids::time_step_bounds(body, workspace);
        };
        step();
        const long long calls = new_calls();
        step();
        step();
        CHECK(new_calls() == calls);
      }
  }
  set_num_threads(before);
}
