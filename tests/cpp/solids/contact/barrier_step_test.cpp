// Tests of steps with barriers: the derivative of the potential, directions, ways free of contact, allocations.
#include "counting_new.hpp"
#include "solids/chain_force.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/solids/contact/barrier_step.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace meniscus;
using meniscus::testing::ChainForce;
using meniscus::testing::new_calls;

namespace {

constexpr Index side = 8, count = side * side;
constexpr double spacing = 0.05, reach = 0.01, dt = 1.0 / 24;

/// The half space below z = 0, which moves along x.
class Belt final : public solids::ImplicitSolid {
 public:
  Belt() : ImplicitSolid(0.4, true) {}
  mesh::Box box(double) const override {
    constexpr double far = std::numeric_limits<double>::infinity();
    return {mesh::Point(-far, -far, -far), mesh::Point(far, far, 0)};
  }
  void distances(solids::ConstPoints x, double, std::span<double> out) const override {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i].z();
  }
  void normals(solids::ConstPoints x, double, solids::Points out) const override {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = mesh::Point(0, 0, 1);
  }
  void velocities(solids::ConstPoints x, double, double, solids::Points out) const override {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = mesh::Point(0.3, 0, 0);
  }
};

std::vector<mesh::Point> sheet(double z, double wave) {
  std::vector<mesh::Point> x;
  for (Index i = 0; i < count; ++i) {
    const auto a = static_cast<double>(i % side), b = static_cast<double>(i / side);
    x.emplace_back(spacing * a, spacing * b, z + wave * std::sin(1.3 * a) * std::cos(0.7 * b));
  }
  return x;
}

/// A sheet whose nodes hang in a chain, between a belt and a second sheet that comes down by `way` in the step.
struct Scene {
  explicit Scene(double way)
      : body(sheet(0.007, 0.001), std::vector<double>(count, 0.01)),
        mesh(std::nullopt, triangles()),
        nodes(inverse_masses()),
        start(all(0)),
        end(all(way)),
        barrier(mesh, start, std::vector<double>(2 * count, reach), groups(), {collision::BarrierScale::normalized, 0.9}) {
    body.add(std::make_shared<ChainForce>(count, 0.05, 40.0, 0.01));
    body.set_gravity(mesh::Point(0, 0, -9.8));
    parts.push_back({&body, {}});
    step.emplace(parts, dt, workspace);
    solids::free_ends(*step, solids::Points(end).first(count));
    options.activation = reach;
    contact.emplace(solids::ContactSurfaces{&mesh, &nodes, &barrier, friction},
                    solids::SolidBarrier::Solids{std::make_shared<Belt>()}, solids::GivenWays{start, end, 0, dt}, count, options);
    barrier_step.emplace(*step, *contact, end, options);
  }

  static std::vector<mesh::Triangle> triangles() {
    std::vector<mesh::Triangle> t;
    for (const Index first : {Index{0}, count})
      for (Index j = 0; j + 1 < side; ++j)
        for (Index i = 0; i + 1 < side; ++i) {
          const auto v = static_cast<std::int32_t>(first + j * side + i), up = v + static_cast<std::int32_t>(side);
          t.push_back({v, v + 1, up + 1});
          t.push_back({v, up + 1, up});
        }
    return t;
  }
  static std::vector<std::int32_t> groups() {
    std::vector<std::int32_t> of(2 * count, 0);
    std::fill_n(of.begin(), count, 1);
    return of;
  }
  static std::vector<double> inverse_masses() {
    std::vector<double> w(2 * count, 0.0);
    std::fill_n(w.begin(), count, 100.0);
    return w;
  }
  static std::vector<mesh::Point> all(double way) {
    std::vector<mesh::Point> x = sheet(0.007, 0.001);
    for (mesh::Point p : sheet(0.016, 0)) x.emplace_back(p.x() + 0.013, p.y() + 0.004, p.z() - way);
    return x;
  }

  solids::DeformableBody body;
  collision::CollisionMesh mesh;
  collision::ContactNodes nodes;
  std::vector<mesh::Point> start, end;
  std::vector<double> friction = std::vector<double>(2 * count, 0.3);
  collision::Barrier barrier;
  Workspace workspace;
  std::vector<solids::BodyInStep> parts;
  solids::BarrierStepOptions options;
  std::optional<solids::BodyStep> step;
  std::optional<solids::BarrierContact> contact;
  std::optional<solids::BarrierStep> barrier_step;
};

std::vector<mesh::Point> random_points(double size) {
  std::mt19937 generator(1);
  std::normal_distribution<double> value(0, size);
  std::vector<mesh::Point> x(count);
  for (mesh::Point& p : x) p = mesh::Point(value(generator), value(generator), value(generator));
  return x;
}

double dot(solids::ConstPoints a, solids::ConstPoints b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i].dot(b[i]);
  return sum;
}

}  // namespace

TEST_CASE("the potential of a step with barriers has the derivative that Newton's method uses, which goes down") {
  Scene s(0);
  REQUIRE(s.barrier_step->begin());
  s.barrier_step->meet(0);
  REQUIRE(s.contact->friction_pairs() > count);
  std::vector<mesh::Point> x(s.start.begin(), s.start.begin() + count), g(count), unused(count), p(count);
  const std::vector<mesh::Point> shift = random_points(2e-5), way = random_points(1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += shift[i];
  s.barrier_step->evaluate(x, g);
  const double h = 1e-8;
  const auto at = [&](double length) {
    std::vector<mesh::Point> there = x;
    for (std::size_t i = 0; i < x.size(); ++i) there[i] += length * way[i];
    return s.barrier_step->evaluate(there, unused);
  };
  CHECK((at(h) - at(-h)) / (2 * h) == doctest::Approx(dot(g, way)).epsilon(1e-5));
  s.barrier_step->direction(x, p);
  CHECK(dot(g, p) < 0);
}

TEST_CASE("barriers and friction of a solid have the second derivative of their energy, and move with the solid") {
  const Scene s(0);
  solids::SolidBarrier solid({std::make_shared<Belt>()}, s.nodes, count, reach);
  const std::vector<mesh::Point> start(s.start.begin(), s.start.begin() + count), way = random_points(1);
  constexpr double stiffness = 2, slip = 5e-3, h = 1e-7;
  std::vector<mesh::Point> x = start;
  for (mesh::Point& p : x) p.x() += 0.004;
  REQUIRE(solid.find(x, 0));
  solid.lag(stiffness, x, dt, dt);
  REQUIRE(solid.rubbing() == count);
  // The belt carries nodes along, so that what goes with it is free of friction.
  std::vector<mesh::Point> carried = start;
  for (mesh::Point& p : carried) p.x() += 0.3 * dt;
  CHECK(solid.friction_energy(carried, start, slip) < solid.friction_energy(start, start, slip));
  const auto forces = [&](double length) {
    std::vector<mesh::Point> there = x, f(count, mesh::Point(0, 0, 0));
    for (std::size_t i = 0; i < x.size(); ++i) there[i] += length * way[i];
    solid.find(there, 0);
    solid.add_forces(stiffness, f);
    solid.add_friction(there, start, slip, f);
    return f;
  };
  const std::vector<mesh::Point> after = forces(h), before = forces(-h);
  forces(0);
  solid.linearise(stiffness, x, start, slip);
  std::vector<mesh::Point> product(count, mesh::Point(0, 0, 0));
  solid.add_product(way, 1, product);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const mesh::Point slope = (before[i] - after[i]) / (2 * h);
    CHECK((product[i] - slope).norm() < 1e-5 * (1 + slope.norm()));
  }
}

TEST_CASE("a step with barriers brings a sheet between a belt and a sheet that comes down to rest in balance, on free ways") {
  Scene s(0.002);
  int moves = 0, crossings = 0;
  std::vector<mesh::Point> last = s.start;
  s.contact->on_iterate = [&](solids::ConstPoints x) {
    ++moves;
    crossings += s.mesh.collides({last, x}, collision::ContactMode::any, {});
    last.assign(x.begin(), x.end());
    for (Index i = 0; i < count; ++i) crossings += !(x[i].z() > 0);
  };
  REQUIRE(s.barrier_step->begin());
  s.barrier_step->meet(0);
  REQUIRE(s.barrier_step->approach());
  CHECK(s.contact->fraction() == 1);
  CHECK(s.barrier_step->minimise(200));
  CHECK(moves > 2);
  CHECK(crossings == 0);
  // The given sheet is at its end to the bit, and forces on the other are balanced up to the tolerance of speeds.
  std::vector<mesh::Point> x(2 * count), g(count);
  s.contact->all(s.barrier_step->positions(), x);
  for (Index i = count; i < 2 * count; ++i) REQUIRE(x[i] == s.end[i]);
  s.barrier_step->evaluate(s.barrier_step->positions(), g);
  double weight = 0.01 * 9.8 * count;
  CHECK(std::sqrt(dot(g, g)) < 0.05 * weight);
}

TEST_CASE("iterations with barriers at kept capacity do not call operator new") {
  Scene s(0);
  // A scope like the one that the bindings open around every call.
  const InterruptScope scope([] { return false; });
  REQUIRE(s.barrier_step->begin());
  s.barrier_step->meet(0);
  REQUIRE(s.barrier_step->approach());
  const std::vector<mesh::Point> away(s.start.begin(), s.start.begin() + count);
  std::vector<mesh::Point> g(count);
  const auto again = [&] {
    s.barrier_step->evaluate(away, g);
    s.barrier_step->lag_friction();
    s.barrier_step->minimise(20);
  };
  again();
  again();
  const int iterations = s.barrier_step->info().iterations;
  const long long calls = new_calls();
  again();
  CHECK(s.barrier_step->info().iterations > iterations + 3);
  CHECK(new_calls() == calls);
}
