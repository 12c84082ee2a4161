// Tests of the systems of implicit steps: the properties that conjugate gradients need, with every kind of constraint.
#include "solids/chain_force.hpp"

#include "meniscus/numerics/system_probe.hpp"
#include "meniscus/solids/integrators/velocity_system.hpp"

#include <doctest/doctest.h>

#include <Eigen/LU>

#include <cmath>
#include <deque>

using namespace meniscus;
using meniscus::testing::ChainForce;

namespace {

constexpr Index count = 60;

/// A crooked chain with masses from 1e-4 to 1e4, of which some nodes are fixed, moved, sliding in one or two directions, and
/// infinitely heavy.
struct Chain {
  Chain() : body(positions(), masses()), force(std::make_shared<ChainForce>(count, 0.5, 40.0, 3.0)) {
    body.add(force);
    const std::array<std::int32_t, 2> fixed{0, 31}, sliding{7, 20};
    const std::array<std::int32_t, 1> moved{12}, edge{20};
    const std::array<mesh::Point, 2> normals{mesh::Point(1, 2, 3), mesh::Point(0, -1, 0)};
    const std::array<mesh::Point, 1> other{mesh::Point(1, 5, 0)};
    body.constraints().fix(fixed);
    body.constraints().move(moved);
    body.constraints().slide(sliding, normals);
    body.constraints().slide(edge, other);
    body.masses()[40] = std::numeric_limits<double>::infinity();
  }

  static std::vector<mesh::Point> positions() {
    std::vector<mesh::Point> x;
    for (Index i = 0; i < count; ++i) {
      const auto t = static_cast<double>(i);
      x.emplace_back(0.45 * t, 0.3 * std::sin(2.1 * t), 0.2 * std::cos(3.7 * t));
    }
    return x;
  }
  static std::vector<double> masses() {
    std::vector<double> m;
    for (Index i = 0; i < count; ++i) m.push_back(std::pow(10.0, -4 + 8 * static_cast<double>(i % 9) / 8));
    return m;
  }

  solids::DeformableBody body;
  std::shared_ptr<ChainForce> force;
  Workspace workspace;
};

double random_value(std::size_t vector, Index i) {
  return std::sin(12.9898 * static_cast<double>(i + 1) + 78.233 * static_cast<double>(vector + 1));
}

}  // namespace

TEST_CASE("systems of implicit steps are symmetric positive definite, also between constrained nodes") {
  Chain chain;
  const solids::BodyStep step(chain.body, 0.1, {}, chain.workspace);
  for (const solids::Tangent tangent : {solids::Tangent::definite, solids::Tangent::frozen})
    for (const auto precondition : {solids::Preconditioner::none, solids::Preconditioner::blocks}) {
      chain.force->linearise(std::as_const(chain.body).positions(), tangent);
      solids::VelocitySystem system(step, 0.1, 0.01, precondition);
      std::deque<std::vector<mesh::Point>> memory;
      const auto random_vector = [&](int k) {
        auto& v = memory.emplace_back(static_cast<std::size_t>(count));
        for (Index i = 0; i < count; ++i)
          for (int d = 0; d < 3; ++d) v[i][d] = random_value(static_cast<std::size_t>(k), 3 * i + d);
        return solids::Points(v);
      };
      solids::Points z = random_vector(99);
      const numerics::SystemDefects d = numerics::probe_system(system, z, random_vector);
      CHECK(d.multiply_symmetry < 1e-14);
      CHECK(d.multiply_definiteness > 1e-6);
      CHECK(d.precondition_symmetry < 1e-14);
      CHECK(d.precondition_definiteness > 1e-6);
      CHECK(d.precondition_additivity < 1e-13);
      CHECK(d.projection_idempotence < 1e-15);
      CHECK(d.projection_symmetry < 1e-15);
      CHECK(d.range < 1e-15);
      CHECK(d.null_space < 1e-15);
    }
}

TEST_CASE("filtered conjugate gradients agree with a direct solve of what is free") {
  Chain chain;
  const solids::BodyStep step(chain.body, 0.1, {}, chain.workspace);
  chain.force->linearise(std::as_const(chain.body).positions(), solids::Tangent::definite);
  constexpr Index n = 3 * count;
  const double damping = 0.1, stiffness = 0.01;
  // The whole matrix, column by column, and the projection.
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n), p = Eigen::MatrixXd::Identity(n, n);
  std::vector<mesh::Point> column(static_cast<std::size_t>(count)), change(static_cast<std::size_t>(count));
  for (Index j = 0; j < n; ++j) {
    for (auto& c : column) c.setZero();
    for (auto& c : change) c.setZero();
    column[j / 3][j % 3] = 1;
    chain.force->add_damping(column, damping, change);
    chain.force->add_differentials(column, stiffness, change);
    for (Index i = 0; i < n; ++i) a(i, j) = -change[i / 3][i % 3];
    const double m = chain.body.masses()[j / 3];
    if (!std::isinf(m)) a(j, j) += m;
  }
  const auto& constrained = chain.body.constraints().constrained();
  for (std::size_t k = 0; k < constrained.size(); ++k)
    p.block<3, 3>(3 * constrained[k], 3 * constrained[k]) = chain.body.constraints().projections()[k];
  p.block<3, 3>(3 * 40, 3 * 40).setZero();

  std::vector<mesh::Point> u(static_cast<std::size_t>(count)), v(static_cast<std::size_t>(count));
  Eigen::VectorXd momentum(n), given(n);
  for (Index i = 0; i < count; ++i)
    for (int d = 0; d < 3; ++d) {
      const auto at = static_cast<std::size_t>(i);
      u[at][d] = random_value(5, 3 * i + d);
      v[at][d] = random_value(6, 3 * i + d);
      const double m = chain.body.masses()[at];
      momentum[3 * i + d] = std::isinf(m) ? 0.0 : m * u[at][d];
      given[3 * i + d] = v[at][d];
    }
  const Eigen::MatrixXd across = Eigen::MatrixXd::Identity(n, n) - p;
  const Eigen::VectorXd prescribed = across * given;
  const Eigen::VectorXd exact = prescribed + (p * a * p + across).fullPivLu().solve(p * (momentum - a * prescribed));

  numerics::SolveInfo info;
  numerics::SolveOptions options{1e-13, 2000};
  CHECK(solids::solve_velocities(step, damping, stiffness, u, v, options, solids::Preconditioner::blocks, info));
  CHECK(info.iterations > 3);
  double worst = 0;
  for (Index i = 0; i < n; ++i) worst = std::max(worst, std::abs(v[i / 3][i % 3] - exact[i]));
  CHECK(worst < 1e-9);
  // What is held comes out as it came in.
  for (const Index node : {0, 12, 31, 40})
    for (int d = 0; d < 3; ++d) CHECK(v[node][d] == random_value(6, 3 * node + d));
}

TEST_CASE("a right-hand side of zero takes no iteration, and an indefinite matrix is reported") {
  Chain chain;
  const solids::BodyStep step(chain.body, 0.1, {}, chain.workspace);
  chain.force->linearise(std::as_const(chain.body).positions(), solids::Tangent::definite);
  std::vector<mesh::Point> u(static_cast<std::size_t>(count), mesh::Point::Zero()),
      v(static_cast<std::size_t>(count), mesh::Point::Zero());
  numerics::SolveInfo info;
  CHECK(solids::solve_velocities(step, 0.1, 0.01, u, v, {}, solids::Preconditioner::blocks, info));
  CHECK(info.iterations == 0);
  CHECK(info.end == numerics::SolveEnd::zero_right_hand_side);

  // Compressed springs without damping push their light ends out sideways.
  solids::DeformableBody squashed(Chain::positions(), Chain::masses());
  const auto force = std::make_shared<ChainForce>(count, 5.0, 1e4, 0.0);
  squashed.add(force);
  const solids::BodyStep other(squashed, 0.1, {}, chain.workspace);
  force->linearise(std::as_const(squashed).positions(), solids::Tangent::exact);
  for (Index i = 0; i < count; ++i) u[i] = mesh::Point(random_value(1, i), random_value(2, i), random_value(3, i));
  CHECK_FALSE(solids::solve_velocities(other, 0.1, 0.01, u, v, {}, solids::Preconditioner::none, info));
  CHECK(info.end == numerics::SolveEnd::indefinite_matrix);

  // And a value that is no number as such.
  u[3][1] = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(solids::solve_velocities(step, 0.1, 0.01, u, v, {}, solids::Preconditioner::blocks, info));
  CHECK(info.end == numerics::SolveEnd::not_a_number);
}
