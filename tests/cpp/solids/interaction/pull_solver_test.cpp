// Tests of the impulses that pull points: exact solutions, limits, directions that nothing moves, and allocations.
#include "counting_new.hpp"

#include "meniscus/solids/interaction/pull_solver.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace meniscus;
using meniscus::testing::new_calls;
using solids::PullRows;
using solids::PullSolver;

namespace {

/// Two masses in a row: the first row holds the first one, the second row holds both together.
struct PulledPair {
  std::vector<std::int64_t> first{0, 3, 9};
  std::vector<std::int32_t> coordinates{0, 1, 2, 0, 1, 2, 3, 4, 5};
  std::vector<mesh::Point> directions, responses;
  std::vector<mesh::Point> bias{{0, 0, 0}, {0, 0, 0}};
  std::vector<double> softness{0, 0}, limits{1e9, 1e9};
  std::vector<double> velocity{1, 2, 3, -1, 0, 4};
  std::vector<mesh::Point> impulses{{0, 0, 0}, {0, 0, 0}};

  PulledPair() {
    const double inverse[] = {0.5, 0.5, 2.0}, sign[] = {1, 1, -1};
    for (int end = 0; end < 3; ++end)
      for (int d = 0; d < 3; ++d) {
        const mesh::Point axis = sign[end] * mesh::Point::Unit(d);
        directions.push_back(axis);
        responses.push_back(inverse[end] * axis);
      }
  }
  PullRows rows() const { return {first, coordinates, directions, responses, bias, softness, limits}; }
};

}  // namespace

TEST_CASE("two rows that hang on each other converge to the exact impulses") {
  PulledPair pair;
  PullSolver solver;
  const auto report = solver.solve(pair.rows(), 1000, 1e-15, pair.velocity, pair.impulses);
  CHECK(report.iterations < 1000);
  for (const double v : pair.velocity) CHECK(std::abs(v) < 1e-12);
  // Masses of 2 and 0.5 kg: both rows stop them.
  CHECK((pair.impulses[1] - mesh::Point(-0.5, 0, 2)).norm() < 1e-12);
  CHECK((pair.impulses[0] - mesh::Point(-1.5, -4, -8)).norm() < 1e-12);
}

TEST_CASE("soft rows are implicit springs, and limits shorten impulses") {
  PulledPair pair;
  pair.first = {0, 3};
  pair.coordinates.resize(3), pair.directions.resize(3), pair.responses.resize(3);
  pair.bias = {{0, 0, -0.25}}, pair.softness = {0.75}, pair.limits = {1e9}, pair.impulses.resize(1);
  PullSolver solver;
  solver.solve(pair.rows(), 1, 0, pair.velocity, pair.impulses);
  CHECK((pair.impulses[0] + mesh::Point(1, 2, 2.75) / 1.25).norm() < 1e-14);
  pair.velocity = {3, 4, 0, 0, 0, 0}, pair.bias = {{0, 0, 0}}, pair.impulses = {{0, 0, 0}}, pair.limits = {0.01};
  solver.solve(pair.rows(), 5, 0, pair.velocity, pair.impulses);
  CHECK((pair.impulses[0] + mesh::Point(0.006, 0.008, 0)).norm() < 1e-15);
}

TEST_CASE("directions that nothing moves get no impulse") {
  PulledPair pair;
  for (std::size_t k : {2U, 5U, 8U}) pair.responses[k].setZero();
  pair.bias = {{1, 1, 1e300}, {0, 0, 0}};
  PullSolver solver;
  solver.solve(pair.rows(), 50, 1e-15, pair.velocity, pair.impulses);
  for (const mesh::Point& p : pair.impulses) {
    CHECK(p.allFinite());
    CHECK(p[2] == 0);
  }
}

TEST_CASE("a repeated solution allocates nothing") {
  PulledPair pair;
  PullSolver solver;
  solver.solve(pair.rows(), 10, 1e-15, pair.velocity, pair.impulses);
  const auto before = new_calls();
  solver.solve(pair.rows(), 10, 1e-15, pair.velocity, pair.impulses);
  CHECK(new_calls() == before);
}
