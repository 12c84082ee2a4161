// Tests of multigrid for velocity solves: what conjugate gradients need of it, the same solutions as with diagonal blocks in far
// fewer iterations, what is held exactly so, the same bits on any number of threads, and no allocation.
#include "counting_new.hpp"
#include "solids/chain_force.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/numerics/system_probe.hpp"
#include "meniscus/solids/integrators/integrators.hpp"
#include "meniscus/solids/integrators/velocity_system.hpp"
#include "meniscus/solids/springs/edge_springs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <deque>

using namespace meniscus;
using solids::Preconditioner;

namespace {

double noise(std::size_t i, double k) { return std::sin(12.9898 * static_cast<double>(i + 1) + 78.233 * k); }

/// A folded cloth of stiff, damped springs along edges and both diagonals, `side` nodes wide, with a scattering of all kinds of
/// constraints, some ten thousand times heavier nodes and an infinite mass.
std::unique_ptr<solids::DeformableBody> cloth(Index side) {
  std::vector<mesh::Point> x, rest;
  std::vector<double> masses;
  for (Index j = 0; j < side; ++j)
    for (Index i = 0; i < side; ++i) {
      const double u = 0.01 * static_cast<double>(i), v = 0.01 * static_cast<double>(j);
      const auto at = x.size();
      rest.emplace_back(u, v, 0);
      x.emplace_back(u + 1e-4 * noise(at, 1), v + 1e-4 * noise(at, 2), 0.02 * std::sin(30 * u) + 1e-4 * noise(at, 3));
      masses.push_back(at % 97 == 5 ? 1e-1 : 1e-5);
    }
  masses[side * side / 2] = std::numeric_limits<double>::infinity();
  std::vector<solids::Ends> ends;
  const auto join = [&](Index a, Index b) { ends.push_back({static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)}); };
  for (Index j = 0; j < side; ++j)
    for (Index i = 0; i < side; ++i) {
      const Index n = j * side + i;
      if (i + 1 < side) join(n, n + 1);
      if (j + 1 < side) join(n, n + side);
      if (i + 1 < side && j + 1 < side) join(n, n + side + 1);
      if (i + 1 < side && j + 1 < side) join(n + 1, n + side);
    }
  std::vector<double> length, stiffness(ends.size(), 400.0), damping(ends.size(), 0.3);
  for (const auto& [a, b] : ends) length.push_back((rest[a] - rest[b]).norm());
  solids::SpringOptions options;
  options.stiffness = stiffness;
  options.damping = damping;
  auto body = std::make_unique<solids::DeformableBody>(x, masses);
  body->add(
      std::make_shared<solids::EdgeSprings>(ends, length, options, solids::AtZeroLength::none, std::span<const mesh::Point>()));
  const auto last = static_cast<std::int32_t>(side * side - 1);
  const std::array<std::int32_t, 2> fixed{0, 1}, sliding{last, last - 40};
  const std::array<std::int32_t, 1> moved{last - 7};
  const std::array<mesh::Point, 2> normals{mesh::Point(1, 2, 3), mesh::Point(0, 0, 1)};
  body->constraints().fix(fixed);
  body->constraints().move(moved);
  body->constraints().slide(sliding, normals);
  for (std::size_t i = 0; i < x.size(); ++i) body->velocities()[i] = mesh::Point(noise(i, 4), noise(i, 5), noise(i, 6));
  return body;
}

/// A third of the nodes in the middle touch something, every other one of them sticks.
std::vector<solids::ContactNormal> contacts(Index nodes) {
  std::vector<solids::ContactNormal> found;
  for (Index i = nodes / 3; i < 2 * nodes / 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const mesh::Point n = mesh::Point(noise(at, 7), noise(at, 8), 2).normalized();
    found.push_back({static_cast<std::int32_t>(i), n});
    if (i % 2 == 0) continue;
    found.push_back({static_cast<std::int32_t>(i), mesh::Point::UnitX()});
    found.push_back({static_cast<std::int32_t>(i), mesh::Point::UnitY()});
  }
  return found;
}

struct Solved {
  std::vector<mesh::Point> v;
  numerics::SolveInfo info;
};

Solved solve(const solids::BodyStep& step, Preconditioner preconditioner, double tolerance) {
  const auto n = static_cast<std::size_t>(step.size());
  Solved s{std::vector<mesh::Point>(n), {}};
  std::vector<mesh::Point> u(n);
  for (std::size_t i = 0; i < n; ++i) {
    u[i] = mesh::Point(noise(i, 4), noise(i, 5), noise(i, 6)) + mesh::Point(0, 0, 3);
    s.v[i] = mesh::Point(noise(i, 9), noise(i, 10), noise(i, 11));
  }
  step.linearise(step.positions(), solids::Tangent::definite);
  solids::solve_velocities(step, 1e-3, 2e-6, u, s.v, {tolerance, 20000}, preconditioner, s.info);
  return s;
}

}  // namespace

TEST_CASE("multigrid of springs is symmetric positive definite between constraints and contacts") {
  const auto body = cloth(40);
  Workspace workspace;
  for (const bool touching : {false, true})
    for (const auto tangent : {solids::Tangent::exact, solids::Tangent::definite, solids::Tangent::frozen}) {
      solids::BodyStep step(*body, 1e-3, {}, workspace);
      if (touching) step.set_contacts(contacts(step.size()));
      step.linearise(step.positions(), tangent);
      solids::VelocitySystem system(step, 1e-3, 2e-6, Preconditioner::multigrid);
      std::deque<std::vector<mesh::Point>> memory;
      const auto random_vector = [&](int k) {
        auto& v = memory.emplace_back(static_cast<std::size_t>(step.size()));
        for (std::size_t i = 0; i < v.size(); ++i) v[i] = mesh::Point(noise(3 * i, k), noise(3 * i + 1, k), noise(3 * i + 2, k));
        return solids::Points(v);
      };
      solids::Points z = random_vector(99);
      const numerics::SystemDefects d = numerics::probe_system(system, z, random_vector);
      CHECK(d.multiply_symmetry < 1e-14);
      CHECK(d.precondition_symmetry < 1e-5);
      CHECK(d.precondition_additivity < 1e-5);
      CHECK(d.precondition_definiteness > 1e-3);
      CHECK(system.stiffness_size() > 0);
      // Nothing of what is held comes out.
      std::vector<mesh::Point> projected(z.begin(), z.end());
      step.project(projected);
      double worst = 0;
      for (std::size_t i = 0; i < projected.size(); ++i)
        worst = std::max(worst, (projected[i] - z[i]).norm() / (1e-300 + z[i].norm()));
      CHECK(worst < 1e-14);
    }
}

TEST_CASE("solves with multigrid agree with those with diagonal blocks, in far fewer iterations") {
  const auto body = cloth(100);
  Workspace workspace;
  for (const bool touching : {false, true}) {
    solids::BodyStep step(*body, 1e-3, {}, workspace);
    if (touching) step.set_contacts(contacts(step.size()));
    const Solved a = solve(step, Preconditioner::blocks, 1e-10), b = solve(step, Preconditioner::multigrid, 1e-10);
    REQUIRE(a.info.converged);
    REQUIRE(b.info.converged);
    CHECK(4 * b.info.iterations < a.info.iterations);
    // Many nodes: `automatic` is the same to the bit.
    CHECK(solve(step, Preconditioner::automatic, 1e-10).v == b.v);
    double worst = 0;
    for (std::size_t i = 0; i < a.v.size(); ++i) worst = std::max(worst, (a.v[i] - b.v[i]).norm());
    CHECK(worst < 1e-7);
    CHECK(worst > 0);
    // What is held keeps what it had: exactly where nothing is free, else along the normals.
    std::vector<mesh::Point> given(a.v.size());
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = mesh::Point(noise(i, 9), noise(i, 10), noise(i, 11));
    const auto held = step.held().nodes();
    for (std::size_t k = 0; k < held.size(); ++k) {
      const auto i = static_cast<std::size_t>(held[k]);
      const Eigen::Matrix3d& p = step.held().projections()[k];
      CHECK(((Eigen::Matrix3d::Identity() - p) * (b.v[i] - given[i])).norm() < (p.isZero(0) ? 1e-300 : 1e-14));
    }
    if (touching) continue;
    // The same bits on any number of threads.
    const int before = num_threads();
    for (const int threads : {1, 2, 3, 5, 8}) {
      set_num_threads(threads);
      CHECK(solve(step, Preconditioner::multigrid, 1e-3).v == solve(step, Preconditioner::multigrid, 1e-3).v);
      set_num_threads(1);
      const Solved alone = solve(step, Preconditioner::multigrid, 1e-3);
      set_num_threads(threads);
      CHECK(solve(step, Preconditioner::multigrid, 1e-3).v == alone.v);
    }
    set_num_threads(before);
  }
}

TEST_CASE("multigrid takes forces without couplings by their diagonal") {
  const auto body = cloth(50);
  body->add(std::make_shared<meniscus::testing::ChainForce>(body->size(), 0.01, 5.0, 0.01));
  Workspace workspace;
  const solids::BodyStep step(*body, 1e-3, {}, workspace);
  const Solved a = solve(step, Preconditioner::blocks, 1e-10), b = solve(step, Preconditioner::multigrid, 1e-10);
  CHECK(b.info.converged);
  CHECK(2 * b.info.iterations < a.info.iterations);
  double worst = 0;
  for (std::size_t i = 0; i < a.v.size(); ++i) worst = std::max(worst, (a.v[i] - b.v[i]).norm());
  CHECK(worst < 1e-7);
}

TEST_CASE("without springs, and beyond single precision, diagonal blocks serve") {
  const auto body = cloth(20);
  Workspace workspace;
  const auto n = static_cast<std::size_t>(body->size());
  std::vector<mesh::Point> u(n, mesh::Point(0, 0, 1)), v(n, mesh::Point::Zero()), other = v;
  numerics::SolveInfo info;
  {
    const solids::BodyStep step(*body, 1e-3, {}, workspace);
    step.linearise(step.positions(), solids::Tangent::definite);
    // Damping whose couplings, and their squares, are no numbers in single precision.
    solids::solve_velocities(step, 1e80, 1e-6, u, v, {1e-2, 5}, Preconditioner::multigrid, info);
    CHECK(std::all_of(v.begin(), v.end(), [](const mesh::Point& p) { return p.allFinite(); }));
  }
  body->remove(std::shared_ptr<solids::Force>(body->forces()[0]));
  body->add(std::make_shared<meniscus::testing::ChainForce>(body->size(), 0.01, 5.0, 0.01));
  const solids::BodyStep step(*body, 1e-3, {}, workspace);
  step.linearise(step.positions(), solids::Tangent::definite);
  v = other;
  CHECK(solids::solve_velocities(step, 1e-3, 1e-6, u, v, {1e-8, 500}, Preconditioner::multigrid, info));
  CHECK(solids::solve_velocities(step, 1e-3, 1e-6, u, other, {1e-8, 500}, Preconditioner::blocks, info));
  CHECK(v == other);
}

TEST_CASE("repeated steps with multigrid never call operator new") {
  const auto body = cloth(50);
  const InterruptScope scope([] { return false; });
  solids::StepOptions options;
  options.preconditioner = Preconditioner::multigrid;
  options.elasticity = solids::ImplicitElasticity::full_step;
  options.safeguard = false;
  options.solve.tolerance = 1e-3;
  Workspace workspace;
  solids::StepReport report;
  const std::vector<mesh::Point> at{body->positions()[body->size() - 8]}, still{mesh::Point::Zero()};
  const solids::NodeMotion motion{at, at, still, still, still};
  const auto step = [&] { solids::take_step(*body, solids::Integrator::newmark, 1e-3, motion, options, workspace, report); };
  step();
  REQUIRE(report.converged);
  const long long calls = meniscus::testing::new_calls();
  step();
  step();
  CHECK(meniscus::testing::new_calls() == calls);
}
