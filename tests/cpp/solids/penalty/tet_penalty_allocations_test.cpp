// Tests of allocations: penalty forces of bodies that overlap.
#include "counting_new.hpp"

#include "meniscus/solids/penalty/tet_penalty.hpp"

#include "meniscus/core/parallel.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace meniscus;

TEST_CASE("repeated penalty forces allocate nothing") {
  // Two tetrahedra, a corner of the second inside of the first.
  const auto faces = [](std::int32_t k) {
    return std::vector<mesh::Triangle>{{k, k + 2, k + 1}, {k, k + 1, k + 3}, {k, k + 3, k + 2}, {k + 1, k + 2, k + 3}};
  };
  std::vector<solids::PenaltyBody> bodies;
  for (const std::int32_t k : {0, 4}) bodies.push_back({4, {{k, k + 1, k + 2, k + 3}}, faces(k)});
  solids::TetPenalty penalty(std::move(bodies));
  const std::vector<mesh::Point> x{{0, 0, 0},       {1, 0, 0},     {0, 1, 0},     {0, 0, 1},
                                   {0.3, 0.3, 0.3}, {2, 0.3, 0.3}, {0.3, 2, 0.3}, {0.3, 0.3, 2}};
  const std::vector<mesh::Point> v(8, mesh::Point(0, 0, 0));
  std::vector<mesh::Point> f(8);
  const int before = num_threads();
  set_num_threads(1);
  for (const auto response : {solids::PenaltyResponse::consistent, solids::PenaltyResponse::ray}) {
    const solids::PenaltyOptions options{.stiffness = 100, .response = response, .self_collision = true};
    penalty.forces(x, v, options, f);
    REQUIRE(penalty.nodes().size() == 1);
    CHECK(penalty.nodes()[0] == 4);
    const auto counted = testing::new_calls();
    penalty.forces(x, v, options, f);
    CHECK(testing::new_calls() == counted);
  }
  set_num_threads(before);
}
