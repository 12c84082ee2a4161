// Tests of allocations: evaluating finite elements allocates nothing.
#include "counting_new.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/elements/quadratic/quadratic_tet_elements.hpp"
#include "meniscus/solids/elements/tet_elements.hpp"
#include "meniscus/solids/elements/triangle_membrane.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

using namespace meniscus;
using meniscus::testing::new_calls;

namespace {

/// A row of cubes with a tetrahedron in each, the same with nodes on their edges, and the triangles of one side of the row.
struct Row {
  std::vector<mesh::Point> x;
  std::vector<mesh::Tet> tets;
  std::vector<solids::QuadraticTet> quadratic;
  std::vector<mesh::Triangle> triangles;

  explicit Row(std::int32_t n) {
    for (std::int32_t i = 0; i <= n; ++i)
      for (const auto& [y, z] : {std::pair{0, 0}, {1, 0}, {0, 1}, {1, 1}}) x.emplace_back(i, y, z);
    for (std::int32_t i = 0; i < n; ++i) {
      const std::int32_t a = 4 * i;
      tets.push_back({a, a + 4, a + 5, a + 7});
      triangles.push_back({a, a + 4, a + 5});
      triangles.push_back({a, a + 5, a + 1});
    }
    for (const mesh::Tet& tet : tets) {
      solids::QuadraticTet& nodes = quadratic.emplace_back();
      std::copy(tet.begin(), tet.end(), nodes.begin());
      for (std::size_t k = 0; k < 6; ++k) {
        const auto end = [&](int i) { return x[tet[i]]; };
        nodes[4 + k] = static_cast<std::int32_t>(x.size());
        x.push_back(0.5 * (end(solids::quadratic_tet::edge[k][0]) + end(solids::quadratic_tet::edge[k][1])));
      }
    }
  }
};

}  // namespace

TEST_CASE("finite elements never call operator new once they are made") {
  const Row row(5000);
  const double one = 1, nu = 0.3;
  const solids::ElementProperties properties{{&one, 1}, {&nu, 1}, {&one, 1}};
  std::vector<std::unique_ptr<solids::Force>> forces;
  for (const bool assembled : {true, false})
    for (const solids::Material m : {solids::Material::linear, solids::Material::corotational,
                                     solids::Material::st_venant_kirchhoff, solids::Material::neo_hookean}) {
      const solids::ElementOptions options{m, 0.1, 0.1, assembled, false};
      forces.push_back(std::make_unique<solids::TetElements>(row.x, row.tets, properties, options));
      forces.push_back(std::make_unique<solids::QuadraticTetElements>(row.x, row.quadratic, properties, options));
      if (m != solids::Material::linear)
        forces.push_back(std::make_unique<solids::TriangleMembrane>(row.x, row.triangles, properties,
                                                                    std::span<const double>(&one, 1), options));
    }
  std::vector<mesh::Point> x = row.x, f(x.size(), mesh::Point::Zero());
  // Strained, and some elements inverted.
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += 0.6 * mesh::Point(std::sin(1.3 * double(i)), std::sin(2.1 * double(i)), std::cos(double(i)));
  std::vector<solids::Block3> blocks(x.size(), solids::Block3::Zero());
  std::vector<double> bounds(x.size(), 0);
  double sum = 0;
  const auto ask_all = [&] {
    for (auto& force : forces) {
      sum += force->energy(x) + force->strain_rate(x, x);
      force->add_forces(x, f);
      for (const solids::Tangent t : {solids::Tangent::exact, solids::Tangent::definite, solids::Tangent::frozen}) {
        force->linearise(x, t);
        force->add_differentials(x, 0.1, f);
        force->add_damping(x, 0.1, f);
        force->add_diagonal(1, 1, blocks);
      }
      force->add_stiffness_bounds(x, bounds);
    }
  };
  const int threads = num_threads();
  set_num_threads(1);
  ask_all();
  const long long before = new_calls();
  ask_all();
  CHECK(new_calls() == before);
  CHECK(std::isfinite(sum));
  set_num_threads(threads);
}
