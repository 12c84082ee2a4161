// Tests of allocations: steps of reduced bodies allocate nothing.
#include "counting_new.hpp"

#include "meniscus/solids/reduced/cubic_forces.hpp"
#include "meniscus/solids/reduced/reduced_contacts.hpp"
#include "meniscus/solids/reduced/sampled_forces.hpp"
#include "meniscus/solids/reduced/vibration_modes.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace meniscus;
using meniscus::testing::new_calls;

TEST_CASE("steps, impulses and contacts of a reduced body allocate nothing") {
  // A row of tetrahedra that share a face each with the next.
  std::vector<mesh::Point> x;
  std::vector<mesh::Tet> tets;
  for (std::int32_t i = 0; i < 5; ++i)
    for (const auto& [y, z] : {std::pair(0.0, 0.0), std::pair(1.0, 0.0), std::pair(0.0, 1.0)}) x.push_back({double(i), y, z});
  for (std::int32_t i = 0; i + 3 < 15; i += 3) {
    tets.push_back({i, i + 3, i + 1, i + 2});
    tets.push_back({i + 3, i + 4, i + 1, i + 2});
    tets.push_back({i + 3, i + 4, i + 2, i + 5});
  }
  const double modulus = 1e5, ratio = 0.3;
  for (auto& t : tets) {
    const auto at = [&](int k) { return Eigen::Vector3d(x[t[k]]); };
    if ((at(1) - at(0)).cross(at(2) - at(0)).dot(at(3) - at(0)) < 0) std::swap(t[2], t[3]);
  }
  const auto elements = solids::tet_gradients(x, tets, {&modulus, 1}, {&ratio, 1});
  const std::vector<double> masses(x.size(), 10.0), ones(tets.size(), 1.0);
  for (const auto& [held, warped] : {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
    std::vector<std::uint8_t> fixed(x.size(), 0);
    if (held) fixed[0] = fixed[1] = fixed[2] = 1;
    const auto basis = solids::basis_with_derivatives(elements, x, masses, fixed, 3, 6);
    const auto model =
        std::make_shared<solids::ReducedModel>(x, masses, basis.vectors, basis.eigenvalues, held,
                                               warped ? solids::node_turns(elements, basis.vectors) : Eigen::MatrixXd());
    const std::shared_ptr<solids::ReducedForces> kinds[] = {
        std::make_shared<solids::CubicForces>(elements, basis.vectors, true),
        std::make_shared<solids::SampledForces>(elements, ones, basis.vectors, solids::Material::neo_hookean)};
    for (const auto& forces : kinds) {
      solids::ReducedMotion body(model, forces);
      solids::ReducedContacts contacts;
      body.set_velocity({1, 0, 0}, {0.1, 2, 0.3});
      const std::int32_t node = 14;
      const double weight = 1, least = 0.1, friction = 0.5;
      const mesh::Point normal(0, 0, 1), still(0, 0, 0);
      mesh::Point impulse(0, 0, 0);
      std::vector<mesh::Point> places(x.size());
      const auto step = [&](solids::ReducedMethod method) {
        CHECK(body.predict({.dt = 0.01, .method = method, .gravity = {0, 0, -9.81}}).converged);
        contacts.solve(body,
                       {.nodes = {&node, 1},
                        .weights = {&weight, 1},
                        .normals = {&normal, 1},
                        .obstacle_velocities = {&still, 1},
                        .least_speeds = {&least, 1},
                        .friction = {&friction, 1}},
                       10, {&impulse, 1});
        body.finish();
        body.positions(places);
      };
      for (const auto method : {solids::ReducedMethod::newmark, solids::ReducedMethod::implicit_euler}) {
        step(method);
        const auto before = new_calls();
        step(method);
        CHECK(new_calls() == before);
      }
    }
  }
}
