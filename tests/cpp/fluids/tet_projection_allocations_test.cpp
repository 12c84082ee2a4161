// A repeated projection on a tetrahedral mesh allocates nothing, wherever its vertices and its water are.
#include "counting_new.hpp"

#include "meniscus/fluids/tet_projection/tet_pressure_solver.hpp"
#include "meniscus/mesh/refinement/bcc_lattice.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace meniscus;

TEST_CASE("a repeated projection on a moving tetrahedral mesh allocates nothing") {
  mesh::TetMeshData data = mesh::BccLattice(mesh::Point(0, 0, 0), 0.1, {9, 8, 10}).mesh();
  const std::size_t m = data.tets.size();
  fluids::TetPressureSolver solver(data.tets, static_cast<Index>(data.vertices.size()));
  std::vector<mesh::Point> velocity(m);
  std::vector<std::uint8_t> wet(m);
  std::vector<double> pressure(data.vertices.size());
  fluids::TetProjectionReport report;
  const auto project = [&](double time, double level) {
    for (std::size_t i = 0; i < data.vertices.size(); ++i)
      data.vertices[i][0] += 0.005 * std::sin(7 * data.vertices[i][1] + time);
    for (std::size_t t = 0; t < m; ++t) {
      const double z = data.vertices[data.tets[t][0]][2];
      wet[t] = z < level;
      velocity[t] = mesh::Point(std::sin(5 * z + time), z, -1);
    }
    fluids::TetPressureProblem problem;
    problem.positions = data.vertices;
    problem.velocity = velocity;
    problem.wet = wet.data();
    problem.boundary = fluids::TetBoundary::wall;
    problem.pressure = pressure.data();
    solver.project(problem, 0.01, {}, report);
    CHECK(report.solve.converged);
  };
  project(0, 1.0);
  project(0.1, 0.7);
  const long long before = testing::new_calls();
  project(0.2, 0.4);
  project(0.3, 0.69);
  CHECK(testing::new_calls() == before);
}
