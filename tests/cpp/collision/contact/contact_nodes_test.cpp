// Tests of nodes with vertices that hang in them.
#include "meniscus/collision/contact/contact_nodes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace meniscus;

TEST_CASE("a vertex with two shares of one node is a vertex of this node once") {
  const std::vector<double> inverse_masses{1, 1, 1};
  const std::vector<std::int32_t> first{0, 2, 4, 5};
  const std::vector<collision::NodeShare> shares{{0, 1.0}, {0, 0.0}, {1, 0.5}, {0, 0.5}, {2, 1.0}};
  const collision::ContactNodes nodes(inverse_masses, first, shares);
  const auto of = [&](std::int32_t node) {
    const auto v = nodes.vertices_of(node);
    return std::vector<std::int32_t>(v.begin(), v.end());
  };
  CHECK(of(0) == std::vector<std::int32_t>{0, 1});
  CHECK(of(1) == std::vector<std::int32_t>{1});
  CHECK(of(2) == std::vector<std::int32_t>{2});
}
