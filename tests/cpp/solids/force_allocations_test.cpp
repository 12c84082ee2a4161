// Tests of allocations: evaluating a force allocates nothing.
#include "counting_new.hpp"

#include "meniscus/solids/springs/dihedral_bending.hpp"
#include "meniscus/solids/springs/edge_springs.hpp"
#include "meniscus/solids/springs/soft_bindings.hpp"
#include "meniscus/solids/surface_forces.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

using namespace meniscus;
using meniscus::testing::new_calls;

namespace {

/// A bent strip of n squares, each of two triangles.
struct Strip {
  std::vector<mesh::Point> x;
  std::vector<mesh::Triangle> triangles;
  std::vector<solids::Ends> edges;
  std::vector<solids::FourNodes> hinges;

  explicit Strip(std::int32_t n) {
    for (std::int32_t i = 0; i <= n; ++i) {
      x.push_back({double(i), 0, 0.1 * (i % 3)});
      x.push_back({double(i), 1, 0.2 * (i % 2)});
    }
    for (std::int32_t i = 0; i < n; ++i) {
      const std::int32_t a = 2 * i;
      triangles.push_back({a, a + 2, a + 3});
      triangles.push_back({a, a + 3, a + 1});
      edges.push_back({a, a + 2});
      edges.push_back({a, a + 3});
      hinges.push_back({a, a + 3, a + 1, a + 2});
    }
  }
};

std::vector<std::unique_ptr<solids::Force>> forces_of(const Strip& s) {
  std::vector<std::unique_ptr<solids::Force>> all;
  const std::vector<double> ones(s.edges.size(), 1.0);
  const std::vector<mesh::Point> along(s.edges.size(), mesh::Point(1, 0, 0));
  const solids::StressStrain::Piece pieces[] = {{-1, 0.5}, {0, 1}, {0.1, 10}};
  const solids::SpringOptions linear{ones, false, ones};
  const solids::SpringOptions biphasic{ones, false, ones, {}, solids::StressStrain(pieces)};
  all.push_back(std::make_unique<solids::EdgeSprings>(s.edges, ones, linear, solids::AtZeroLength::none, along));
  all.push_back(std::make_unique<solids::EdgeSprings>(s.edges, ones, biphasic, solids::AtZeroLength::last_direction, along));
  const std::vector<double> per_hinge(s.hinges.size(), 1.0);
  const std::vector<double> angles(s.hinges.size(), 0.1);
  const solids::SpringOptions of_hinges{per_hinge, false, per_hinge};
  for (const auto law : {solids::BendingLaw::shell, solids::BendingLaw::bridson})
    all.push_back(std::make_unique<solids::DihedralBending>(solids::DihedralBending::Parameters{s.hinges, angles, law, 1e-6},
                                                            of_hinges, s.x));
  const solids::SpringOptions per_length{per_hinge, true, per_hinge};
  all.push_back(std::make_unique<solids::AltitudeSprings>(solids::AltitudeSprings::Parameters{s.hinges, -1, 1e-3, 0.01, 1e-3},
                                                          per_length, s.x));
  const std::vector<std::int32_t> parents{0, 1, 2, 3, 4, 5};
  const std::vector<double> weights(6, 0.5);
  const std::vector<double> three(3, 1.0);
  all.push_back(std::make_unique<solids::SoftBindings>(
      solids::SoftBindings::End{parents, weights, 2}, solids::SoftBindings::End{{}, {}, 0},
      solids::SpringOptions{three, false, three}, std::span<const mesh::Point>(s.x).first(3)));
  const std::vector<double> drag(s.x.size(), 1.0);
  all.push_back(std::make_unique<solids::WindDrag>(s.triangles, drag, true));
  all.push_back(std::make_unique<solids::Drag>(drag, true));
  all.push_back(std::make_unique<solids::Pressure>(s.triangles, 2.0, false));
  return all;
}

}  // namespace

TEST_CASE("forces allocate nothing once they are made") {
  const Strip strip(300);
  auto forces = forces_of(strip);
  const auto n = strip.x.size();
  std::vector<mesh::Point> f(n, mesh::Point::Zero());
  std::vector<solids::Block3> blocks(n, solids::Block3::Zero());
  std::vector<double> bounds(n, 0.0);
  double sum = 0;
  const auto ask = [&](solids::Force& force) {
    sum += force.energy(strip.x) + force.strain_rate(strip.x, strip.x);
    force.add_forces(strip.x, f);
    for (const auto tangent : {solids::Tangent::exact, solids::Tangent::definite, solids::Tangent::frozen}) {
      force.linearise(strip.x, tangent);
      force.add_differentials(strip.x, 0.5, f);
      force.add_damping(strip.x, 0.5, f);
      force.add_diagonal(1, 1, blocks);
    }
    force.add_stiffness_bounds(strip.x, bounds);
  };
  for (auto& force : forces) ask(*force);
  const auto before = new_calls();
  for (auto& force : forces) ask(*force);
  CHECK(new_calls() == before);
  CHECK(std::isfinite(sum));
  CHECK(f[5].allFinite());
}
