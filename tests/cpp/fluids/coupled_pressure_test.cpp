// The pressure of a fluid and the velocities of bodies in it are one symmetric system, and impulses are the adjoint of volumes.
#include "meniscus/fluids/pressure/bodies/moving_bodies.hpp"
#include "meniscus/fluids/pressure/coupled_poisson.hpp"
#include "meniscus/grid/poisson/poisson_assembly.hpp"
#include "meniscus/numerics/system_probe.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace meniscus;
using fluids::Vector6;

namespace {

fluids::MovingBody body_at(double x, double mass) {
  fluids::MovingBody body{{x, 0.4, 0.3},
                          mass,
                          mass * Eigen::Vector3d(0.02, 0.03, 0.025).asDiagonal().toDenseMatrix(),
                          Vector6::Zero(),
                          Vector6::Zero(),
                          Vector6::Zero(),
                          Eigen::Vector3d::Zero(),
                          {}};
  body.impulse[2] = -9.81 * mass;
  return body;
}

struct Box {
  explicit Box(double density, bool held) {
    const Coord<3> n{12, 10, 14};
    const grid::CellLayout<3> layout(n, {false, true, false});
    grid::fit(poisson.matrix, layout, true);
    poisson.matrix.open_coupling.fill(1.0);
    grid::assemble<3>(
        poisson.matrix, [](int, Index, Index, int side) { return side == 5   ? 2.0
                                                                 : side >= 0 ? 0.0
                                                                             : 1.0; },
        [](Index) { return true; });
    poisson.b = Block<double>(layout.size);
    poisson.x = Block<double>(layout.size);
    std::fill(poisson.b.begin(), poisson.b.end(), 0.0);
    std::fill(poisson.x.begin(), poisson.x.end(), 0.0);
    poisson.prepare();
    std::uniform_real_distribution<double> number(-1.0, 1.0);
    std::vector<fluids::BodyConstraint> constraints;
    if (held) {
      // One row twice, as contacts have it.
      fluids::BodyConstraint c{{0, 1}, {Vector6::Unit(0), -Vector6::Unit(0)}};
      constraints = {c, c, {{1, -1}, {Vector6::Unit(4), Vector6::Zero()}}};
    }
    bodies = std::make_unique<fluids::MovingBodies>(
        std::vector<fluids::MovingBody>{body_at(0.2, density), body_at(0.7, 20 * density), body_at(0.5, 0.0)}, constraints,
        Vector6::Ones());
    for (Index k = 0; k < 60; ++k) {
      rows.begin_row(layout.index({3 + k % 5, k % 10, 2 + (7 * k) % 11}));
      for (int v = 0; v < 18; ++v) rows.add(v, number(random));
    }
    for (Index b = 0; b < 3; ++b)
      for (int k = 0; k < 8; ++k) {
        Vector6 row;
        for (double& v : row) v = number(random);
        bodies->attach(b, row, number(random) * density, 0.1);
      }
    bodies->factor();
    system.label(poisson, 1);
    system.join(poisson, rows, std::vector<std::uint8_t>(3, 1), *bodies, 0.7);
  }

  Block<double> vector(int number) {
    std::mt19937 seeded(static_cast<unsigned>(number));
    std::uniform_real_distribution<double> value(-1.0, 1.0);
    Block<double> v(poisson.b.size());
    std::fill(v.begin(), v.end(), 0.0);
    const grid::CellLayout<3>& layout = poisson.matrix.layout;
    for (Index r = 0; r < layout.rows(); ++r)
      for (Index k = 0; k < layout.cells[2]; ++k) v[layout.row(r) + k] = value(seeded);
    return v;
  }

  std::mt19937 random{3};
  grid::PoissonSolver<3> poisson;
  fluids::VolumeRows rows;
  std::unique_ptr<fluids::MovingBodies> bodies;
  fluids::CoupledPoisson<3> system;
};

}  // namespace

TEST_CASE("the system of a fluid and bodies is symmetric and definite, for bodies of any weight, free and held") {
  for (const double density : {1e-4, 1.0, 1e4})
    for (const bool held : {false, true}) {
      Box box(density, held);
      Block<double> z = box.vector(99);
      const auto defects = numerics::probe_system(box.system, z, [&](int n) { return box.vector(n); });
      CHECK(defects.multiply_symmetry < 1e-12);
      CHECK(defects.multiply_definiteness > 0);
      CHECK(defects.precondition_definiteness > 0);
      CHECK(defects.precondition_symmetry < 1e-5);
    }
}

TEST_CASE("impulses are the adjoint of volumes, and bodies with a path of their own do not yield") {
  Box box(0.3, true);
  const Block<double> p = box.vector(1);
  std::vector<double> f(18), v(18), back(18);
  box.rows.gather(p.data(), 1.0, f);
  for (int k = 0; k < 18; ++k) v[k] = std::sin(k + 1.0);
  Block<double> q(p.size());
  std::fill(q.begin(), q.end(), 0.0);
  box.rows.scatter(v, q.data());
  double by_cells = 0, by_bodies = 0;
  for (Index i = 0; i < p.size(); ++i) by_cells += p[i] * q[i];
  for (int k = 0; k < 18; ++k) by_bodies += f[k] * v[k];
  CHECK(by_cells == doctest::Approx(by_bodies).epsilon(1e-13));
  box.bodies->respond(f, back);
  for (int k = 12; k < 18; ++k) CHECK(back[k] == 0.0);
  // What is held: the relative speed along the constraints does not change.
  CHECK(std::abs(back[0] - back[6]) < 1e-7 * (std::abs(back[0]) + std::abs(back[6])));
  CHECK(std::abs(back[6 + 4]) < 1e-7 * std::abs(back[6 + 3]));
}

TEST_CASE("bodies keep at least half of their inertia beside attached fluid of negative mass") {
  fluids::MovingBodies bodies({body_at(0.2, 1.0)}, {}, Vector6::Ones());
  for (const double mass : {-0.2, -5.0}) {
    bodies.begin();
    bodies.attach(0, Vector6::Unit(0), mass, 0.0);
    bodies.factor();
    Vector6 f = Vector6::Unit(0), v = Vector6::Zero();
    bodies.respond({f.data(), 6}, {v.data(), 6});
    CHECK(v[0] == doctest::Approx(1 / std::max(1 + mass, fluids::MovingBodies::least_inertia)));
  }
}

TEST_CASE("a piston between two closed regions takes up what both ask for together; the rest is free") {
  const Coord<2> n{12, 8};
  const grid::CellLayout<2> layout(n, {false, false});
  for (const bool two_bodies : {false, true}) {
    grid::PoissonSolver<2> poisson;
    grid::fit(poisson.matrix, layout, true);
    poisson.matrix.open_coupling.fill(1.0);
    const auto column = [&](Index i) { return (i - layout.origin) / layout.strides[0]; };
    // The piston fills the columns 5 and 6.
    const auto free = [&](Index i) { return column(i) < 5 || column(i) > 6; };
    grid::assemble<2>(
        poisson.matrix,
        [&](int, Index lower, Index upper, int side) { return side < 0 && free(lower) && free(upper) ? 1.0 : 0.0; }, free);
    poisson.b = Block<double>(layout.size);
    poisson.x = Block<double>(layout.size);
    std::fill(poisson.b.begin(), poisson.b.end(), 0.0);
    std::fill(poisson.x.begin(), poisson.x.end(), 0.0);
    poisson.prepare();
    REQUIRE(poisson.regions().regions().size() == 2);
    // With two bodies, each region has one of its own, and both levels are determined.
    std::vector<fluids::MovingBody> pistons{body_at(0.5, 2.0)};
    if (two_bodies) pistons.push_back(body_at(0.5, 3.0));
    fluids::MovingBodies bodies(pistons, {}, Vector6::Ones());
    bodies.factor();
    fluids::VolumeRows rows;
    for (Index j = 0; j < 8; ++j) {
      rows.begin_row(layout.index({4, j}));
      rows.add(0, 1.0);
      rows.begin_row(layout.index({7, j}));
      rows.add(two_bodies ? 6 : 0, -1.0);
    }
    const double scale = 0.7;
    fluids::CoupledPoisson<2> system;
    system.label(poisson, 1);
    system.join(poisson, rows, std::vector<std::uint8_t>(pistons.size(), two_bodies ? 1 : 0), bodies, scale);
    CHECK(system.levels().determined());
    // The same pressure on both sides pushes one piston nowhere, and two apart.
    Block<double> same(layout.size);
    std::fill(same.begin(), same.end(), 0.0);
    for (const auto& u : poisson.regions().intervals()) std::fill_n(same.data() + u.index, u.count, 1.0);
    const double before = system.inner_product(same, same);
    system.project(same);
    CHECK(system.inner_product(same, same) == doctest::Approx(two_bodies ? before : 0.0).epsilon(1e-12));
    Block<double> z(layout.size);
    // As everywhere, vectors vanish beside the unknowns.
    std::fill(z.begin(), z.end(), 0.0);
    const auto vector = [&](int number) {
      std::mt19937 seeded(static_cast<unsigned>(number));
      std::uniform_real_distribution<double> value(-1.0, 1.0);
      Block<double> v(layout.size);
      std::fill(v.begin(), v.end(), 0.0);
      for (const auto& u : poisson.regions().intervals())
        for (Index k = 0; k < u.count; ++k) v[u.index + k] = value(seeded);
      system.project(v);
      return v;
    };
    const auto defects = numerics::probe_system(system, z, vector);
    CHECK(defects.multiply_symmetry < 1e-12);
    CHECK(defects.multiply_definiteness > 0);
    CHECK(defects.precondition_definiteness > 0);
    CHECK(defects.precondition_symmetry < 1e-5);
    // The left side lets go of 3 units of volume, the right one takes as many: the piston moves by that through its 8 faces.
    poisson.b[layout.index({1, 2})] = 3.0;
    poisson.b[layout.index({9, 5})] = -3.0;
    numerics::SolveInfo info;
    numerics::SolveOptions options;
    options.tolerance = 1e-10;
    system.solve(options, true, info);
    CHECK(info.converged);
    CHECK(info.iterations < 25);
    std::vector<double> f, v;
    fluids::CoupledPoisson<2>::answer(poisson.x.data(), rows, bodies, scale, f, v);
    CHECK(v[0] == doctest::Approx(3.0 / 8).epsilon(1e-8));
    if (two_bodies) CHECK(v[6] == doctest::Approx(3.0 / 8).epsilon(1e-8));
  }
}
