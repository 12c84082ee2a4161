// Tests of nodes that move with few coordinates: energies of ways that the coordinates make and of others, derivatives, sums.
#include "meniscus/solids/contact/coordinate_force.hpp"
#include "meniscus/core/error.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace meniscus;
using solids::CoordinateForce;

namespace {

constexpr double over = 0.02, stiffness = 1e4, mass = 3.0;
constexpr Index count = 7;

/// Nodes of a rigid body whose inertia is not that of their masses.
struct Body {
  Body() {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> some(-1, 1);
    for (Index k = 0; k < count; ++k) places.emplace_back(some(random), some(random), some(random));
    mesh::Point mean = mesh::Point::Zero();
    for (const auto& x : places) mean += x / count;
    for (auto& x : places) x -= mean;
    response = Eigen::MatrixXd::Zero(3 * count, 6);
    const mesh::Point inverse_inertia(0.7, 1.3, 2.9);
    for (Index k = 0; k < count; ++k) {
      response.block<3, 3>(3 * k, 0) = Eigen::Matrix3d::Identity() / std::sqrt(mass);
      for (int a = 0; a < 3; ++a) {
        const mesh::Point turn = mesh::Point::Unit(a) * std::sqrt(inverse_inertia[a]);
        response.block<3, 1>(3 * k, 3 + a) = turn.cross(places[static_cast<std::size_t>(k)]);
      }
    }
  }
  CoordinateForce force() const {
    std::vector<std::int32_t> nodes(count);
    for (Index k = 0; k < count; ++k) nodes[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(2 * k);
    return {nodes, std::vector<double>(count, mass / count), response, places, over, stiffness};
  }
  std::vector<mesh::Point> at(const Eigen::VectorXd& way) const {
    std::vector<mesh::Point> x(2 * count, mesh::Point(9, 9, 9));
    for (Index k = 0; k < count; ++k)
      x[static_cast<std::size_t>(2 * k)] = places[static_cast<std::size_t>(k)] + way.segment<3>(3 * k);
    return x;
  }
  double inertia(const Eigen::VectorXd& way) const { return 0.5 * mass / count * way.squaredNorm() / (over * over); }

  std::vector<mesh::Point> places;
  Eigen::MatrixXd response;
};

Eigen::VectorXd any(Index size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> some;
  Eigen::VectorXd v(size);
  for (double& a : v) a = some(random);
  return v;
}

}  // namespace

TEST_CASE("with the inertia of the nodes, ways of coordinates have the inertia of the coordinates") {
  const Body body;
  const CoordinateForce force = body.force();
  for (unsigned seed = 0; seed < 4; ++seed) {
    const Eigen::VectorXd z = any(6, seed), way = body.response * z;
    CHECK(force.energy(body.at(way)) + body.inertia(way) ==
          doctest::Approx(0.5 * z.squaredNorm() / (over * over)).epsilon(1e-10));
  }
}

TEST_CASE("ways that no coordinates make have the inertia of the nodes many times") {
  const Body body;
  const CoordinateForce force = body.force();
  Eigen::VectorXd way = any(3 * count, 5);
  way -= body.response * body.response.colPivHouseholderQr().solve(way);
  CHECK(force.energy(body.at(way)) == doctest::Approx((stiffness - 1) * body.inertia(way)).epsilon(1e-10));
}

TEST_CASE("forces are the derivative of the energy, differentials and diagonal blocks theirs") {
  const Body body;
  CoordinateForce force = body.force();
  const Eigen::VectorXd way = 0.1 * any(3 * count, 6), step = any(3 * count, 7);
  const auto x = body.at(way);
  std::vector<mesh::Point> f(x.size(), mesh::Point::Zero()), df(f), u(f);
  force.add_forces(x, f);
  double along = 0, second = 0;
  for (Index k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(2 * k);
    u[i] = step.segment<3>(3 * k);
    along += f[i].dot(u[i]);
  }
  force.add_differentials(u, 1, df);
  for (std::size_t i = 0; i < u.size(); ++i) second += df[i].dot(u[i]);
  // A quadratic form: central differences are exact but for rounding.
  const double h = 0.5, up = force.energy(body.at(way + h * step)), down = force.energy(body.at(way - h * step));
  CHECK((down - up) / (2 * h) == doctest::Approx(along).epsilon(1e-9));
  CHECK((2 * force.energy(x) - up - down) / (h * h) == doctest::Approx(second).epsilon(1e-9));
  for (std::size_t i = 1; i < f.size(); i += 2) CHECK(f[i] == mesh::Point::Zero());

  std::vector<solids::Block3> blocks(x.size(), solids::Block3::Zero());
  force.add_diagonal(2, 0, blocks);
  for (Index k = 0; k < count; ++k)
    for (int a = 0; a < 3; ++a) {
      std::vector<mesh::Point> unit(x.size(), mesh::Point::Zero()), out(unit);
      const auto i = static_cast<std::size_t>(2 * k);
      unit[i] = mesh::Point::Unit(a);
      force.add_differentials(unit, 2, out);
      CHECK((out[i] - blocks[i].col(a)).norm() <= 1e-9 * blocks[i].norm());
    }
}

TEST_CASE("wrong sizes and numbers are refused") {
  const Body body;
  const std::vector<std::int32_t> nodes(count, 0);
  const std::vector<double> masses(count, 1.0);
  CHECK_THROWS_AS(CoordinateForce(nodes, masses, Eigen::MatrixXd::Zero(3, 6), body.places, over, stiffness), InvalidArgument);
  CHECK_THROWS_AS(CoordinateForce(nodes, masses, body.response, body.places, 0, stiffness), InvalidArgument);
  CHECK_THROWS_AS(CoordinateForce(nodes, masses, body.response, body.places, over, 1), InvalidArgument);
  CHECK_THROWS_AS(CoordinateForce(nodes, std::vector<double>(count, 0.0), body.response, body.places, over, stiffness),
                  InvalidArgument);
}
