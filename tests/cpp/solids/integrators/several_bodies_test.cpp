// Tests of steps of several bodies as one system, and of contacts within it.
#include "solids/chain_force.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/numerics/system_probe.hpp"
#include "meniscus/solids/integrators/integrators.hpp"
#include "meniscus/solids/integrators/velocity_system.hpp"

#include <doctest/doctest.h>

#include <Eigen/LU>

#include <cmath>
#include <deque>

using namespace meniscus;
using meniscus::testing::ChainForce;
using solids::BodyInStep;
using solids::ContactNormal;
using solids::DeformableBody;

namespace {

/// A crooked chain that is stretched and falls; `shift` tells chains apart.
std::shared_ptr<DeformableBody> chain(Index count, double shift, double damping = 0) {
  std::vector<mesh::Point> x;
  std::vector<double> m;
  for (Index i = 0; i < count; ++i) {
    const double t = static_cast<double>(i) + shift;
    x.emplace_back(0.6 * t, 0.3 * std::sin(2.1 * t), 0.2 * std::cos(3.7 * t));
    m.push_back(0.5 + 0.1 * static_cast<double>(i % 7));
  }
  auto body = std::make_shared<DeformableBody>(x, m);
  body->add(std::make_shared<ChainForce>(count, 0.5, 40.0, damping));
  body->set_gravity(mesh::Point(0.1, -9.8, shift));
  for (Index i = 0; i < count; ++i) body->velocities()[i] = mesh::Point(shift, 0.1 * static_cast<double>(i), 1);
  const std::array<std::int32_t, 1> fixed{2}, sliding{4}, moved{3};
  const std::array<mesh::Point, 1> normal{mesh::Point(1, 2, 3)};
  body->constraints().fix(fixed);
  body->constraints().slide(sliding, normal);
  body->constraints().move(moved);
  return body;
}

struct Path {
  explicit Path(const DeformableBody& b) : at{b.positions()[3] + mesh::Point(0.01, 0, 0)}, v{mesh::Point(1, 0, 0)} {}
  solids::NodeMotion motion() const { return {at, at, v, v, v}; }
  std::vector<mesh::Point> at, v;
};

double difference(const DeformableBody& a, const DeformableBody& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.positions().size(); ++i)
    most = std::max({most, (a.positions()[i] - b.positions()[i]).norm(), (a.velocities()[i] - b.velocities()[i]).norm()});
  return most;
}

}  // namespace

TEST_CASE("bodies of one system that do not touch move as each alone does") {
  struct Case {
    solids::Integrator integrator;
    double damping, tolerance;
  };
  using I = solids::Integrator;
  // Explicit steps have the same bits; solves see all bodies at once, and agree to their tolerance.
  for (const Case& c :
       {Case{I::symplectic_euler, 3, 0}, Case{I::rk4, 3, 0}, Case{I::verlet, 0, 0}, Case{I::velocity_verlet, 3, 0},
        Case{I::newmark, 0, 0}, Case{I::newmark, 3, 1e-9}, Case{I::implicit_euler, 3, 1e-7}}) {
    std::vector<std::shared_ptr<DeformableBody>> together, alone;
    for (int k = 0; k < 3; ++k) {
      together.push_back(chain(9 + 4 * k, 0.3 * k, c.damping));
      alone.push_back(chain(9 + 4 * k, 0.3 * k, c.damping));
    }
    Workspace workspace;
    solids::StepOptions options;
    options.solve.tolerance = 1e-12;
    options.newton_tolerance = 1e-10;
    for (int n = 0; n < 3; ++n) {
      std::deque<Path> paths;
      std::vector<BodyInStep> bodies;
      solids::StepReport report;
      for (std::size_t k = 0; k < 3; ++k) {
        const Path own(*alone[k]);
        CHECK(solids::take_step(*alone[k], c.integrator, 0.01, own.motion(), options, workspace, report));
        bodies.push_back({together[k].get(), paths.emplace_back(*together[k]).motion()});
      }
      CHECK(solids::take_step(bodies, c.integrator, 0.01, options, workspace, report));
      CHECK(bodies[2].first == 22);
      for (std::size_t k = 0; k < 3; ++k) CHECK(difference(*together[k], *alone[k]) <= c.tolerance);
    }
  }
}

TEST_CASE("contacts enter a velocity solve as given velocities along their normals") {
  const auto a = chain(7, 0.0, 3.0), b = chain(9, 0.4, 2.0);
  a->masses()[6] = std::numeric_limits<double>::infinity();
  std::array bodies{BodyInStep{a.get(), {}}, BodyInStep{b.get(), {}}};
  Workspace workspace;
  solids::BodyStep step(bodies, 0.1, workspace);
  REQUIRE(step.size() == 16);
  const mesh::Point n = mesh::Point(1, 1, 0).normalized(), other = mesh::Point(0, 1, 2).normalized();
  // One and two normals, one twice, across a sliding direction, and on nodes that cannot yield.
  const std::vector<ContactNormal> contacts{{0, n},
                                            {1, n},
                                            {1, other},
                                            {1, mesh::Point(n)},
                                            {2, n},
                                            {4, other},
                                            {4, mesh::Point(1, 2, 3).normalized()},
                                            {5, mesh::Point::UnitX()},
                                            {5, mesh::Point::UnitY()},
                                            {5, n},
                                            {5, other},
                                            {6, n},
                                            {7 + 5, n},
                                            {7 + 8, other}};
  step.set_contacts(contacts);
  const auto& held = step.held();
  CHECK(held.touching().size() == 6);
  for (std::size_t k = 0; k < held.nodes().size(); ++k) {
    const Eigen::Matrix3d& p = held.projections()[k];
    CHECK((p * p - p).norm() < 1e-14);
    for (const ContactNormal& c : contacts)
      if (c.node == held.nodes()[k]) CHECK((p * c.normal).norm() < 1e-14);
  }
  const std::size_t all = static_cast<std::size_t>(step.size());
  std::deque<std::vector<mesh::Point>> memory;
  const auto random_vector = [&](int k) {
    auto& v = memory.emplace_back(all);
    for (std::size_t i = 0; i < all; ++i)
      for (int d = 0; d < 3; ++d) v[i][d] = std::sin(12.9898 * static_cast<double>(3 * i) + 7.7 * d + 78.233 * k);
    return solids::Points(v);
  };
  step.linearise(step.positions(), solids::Tangent::definite);
  {
    solids::VelocitySystem system(step, 0.1, 0.01, solids::Preconditioner::blocks);
    solids::Points z = random_vector(99);
    const numerics::SystemDefects d = numerics::probe_system(system, z, random_vector);
    CHECK(d.multiply_symmetry < 1e-14);
    CHECK(d.multiply_definiteness > 1e-6);
    CHECK(d.precondition_symmetry < 1e-14);
    CHECK(d.precondition_definiteness > 1e-6);
    CHECK(d.projection_idempotence < 1e-15);
  }
  const solids::Points v0 = random_vector(1), v = random_vector(2), loose = random_vector(3), given = random_vector(4);
  step.hold_velocities(solids::StepTime::start, v0);
  step.hold_velocities(solids::StepTime::start, given);
  solids::nodes::copy(v0, v);
  step.hold_contacts(given, v);
  solids::StepOptions options;
  options.solve.tolerance = 1e-13;
  numerics::SolveInfo info;
  bool definite = false;
  REQUIRE(solids::solve_velocity(step, step.positions(), v0, 0.1, 0.1, options, v, info, definite, loose));
  for (std::size_t k = 0; k < held.touching().size(); ++k) {
    const auto i = static_cast<std::size_t>(held.touching()[k]);
    CHECK((held.across()[k] * (v[i] - given[i])).norm() < 1e-13);
  }
  // The equation, row by row: the unprojected velocities are its right-hand side, and differ from the solution along normals
  // only.
  std::vector<mesh::Point> f(all, mesh::Point::Zero()), rhs(all);
  step.accelerations(step.positions(), {}, rhs);
  step.each_force([&](const solids::Force& force, const BodyInStep& part) {
    force.add_tangent(part.of(v), 0.01, 0.1, part.of(solids::Points(f)));
  });
  double along = 0;
  for (std::size_t i = 0; i < all; ++i) {
    if (step.inverse_mass(i) == 0 || step.kind(i) == solids::ConstraintKind::fixed ||
        step.kind(i) == solids::ConstraintKind::moved) {
      CHECK(loose[i] == v[i]);
      continue;
    }
    mesh::Point expected = v0[i] + 0.1 * rhs[i] + step.inverse_mass(i) * f[i];
    if (i == 4 || i == 7 + 4) continue;  // across a sliding direction
    CHECK((loose[i] - expected).norm() < 1e-10);
    if (step.kind(i) == solids::ConstraintKind::free) CHECK(loose[i] == v[i]);
    along = std::max(along, (loose[i] - v[i]).norm());
  }
  CHECK(along > 0.01);
  const mesh::Point slide = mesh::Point(1, 2, 3).normalized();
  CHECK(std::abs(slide.dot(loose[4])) < 1e-14);

  SUBCASE("contacts are checked") {
    const std::array descending{ContactNormal{3, n}, ContactNormal{2, n}};
    CHECK_THROWS_AS(step.set_contacts(descending), InvalidArgument);
    const std::array unknown{ContactNormal{16, n}};
    CHECK_THROWS_AS(step.set_contacts(unknown), InvalidArgument);
    const std::array longer{ContactNormal{1, 2 * n}};
    CHECK_THROWS_AS(step.set_contacts(longer), InvalidArgument);
  }
  SUBCASE("and may be taken away again") {
    step.set_contacts({});
    CHECK(held.touching().empty());
    CHECK(held.nodes().size() == 6);
  }
}
