// Colours of items that share nodes, against the greedy rule spelled out.
#include "meniscus/numerics/graph/colouring.hpp"
#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

using namespace meniscus;

namespace {

using Pair = std::array<std::int32_t, 2>;

std::vector<Pair> random_pairs(std::int32_t nodes, int pairs, std::uint64_t seed) {
  std::vector<Pair> result;
  for (int k = 0; k < pairs; ++k) {
    const auto u = CounterRandom(seed, static_cast<std::uint64_t>(k), 0).uniform2(0);
    // Squared: some nodes are in many pairs.
    result.push_back({static_cast<std::int32_t>(u[0] * u[0] * nodes), static_cast<std::int32_t>(u[1] * nodes)});
  }
  return result;
}

/// The lowest colour that no earlier pair at the same nodes has; from `last` on, `last`.
std::vector<std::int32_t> lowest_free(std::int32_t nodes, const std::vector<Pair>& pairs, std::int32_t last) {
  std::vector<std::set<std::int32_t>> taken(nodes);
  std::vector<std::int32_t> colours;
  for (const Pair& p : pairs) {
    std::int32_t c = 0;
    while (c < last && (taken[p[0]].contains(c) || taken[p[1]].contains(c))) ++c;
    for (const std::int32_t n : p) taken[n].insert(c);
    colours.push_back(c);
  }
  return colours;
}

numerics::Colouring coloured(std::int32_t nodes, const std::vector<Pair>& pairs, numerics::WhenFull when_full) {
  numerics::Colouring colouring;
  colouring.colour(
      std::ssize(pairs), nodes,
      [&](Index i, auto&& visit) {
        for (const std::int32_t n : pairs[i]) visit(n);
      },
      when_full);
  return colouring;
}

}  // namespace

TEST_CASE("colours: no two items of one colour share a node, and all are in the order of their colours") {
  for (const int pairs : {0, 1, 300, 3000}) {
    const auto given = random_pairs(40, pairs, static_cast<std::uint64_t>(pairs));
    const numerics::Colouring c = coloured(40, given, numerics::WhenFull::open_more);
    REQUIRE(c.first().front() == 0);
    REQUIRE(c.first().back() == pairs);
    CHECK(c.size() == (pairs == 0 ? 0 : *std::ranges::max_element(c.colours()) + 1));
    for (Index k = 0; k < c.size(); ++k) {
      std::vector<bool> used(40);
      std::int32_t before = -1;
      CHECK(c.extent(k) == std::pair(c.first()[k], c.first()[k + 1]));
      c.visit(k, c.first()[k], c.first()[k + 1], [&](std::int32_t i) {
        CHECK(c.colours()[i] == k);
        CHECK(i > before);
        before = i;
        const Pair& p = given[i];
        CHECK_FALSE((used[p[0]] || used[p[1]]));
        used[p[0]] = used[p[1]] = true;
      });
    }
  }
}

TEST_CASE("colours: the lowest that is free, while there are no more than 64") {
  const auto given = random_pairs(200, 300, 5);
  const auto expected = lowest_free(200, given, 1 << 30);
  REQUIRE(*std::ranges::max_element(expected) < 63);
  for (const auto when_full : {numerics::WhenFull::open_more, numerics::WhenFull::take_in_turn}) {
    const numerics::Colouring c = coloured(200, given, when_full);
    CHECK(std::ranges::equal(c.colours(), expected));
  }
}

TEST_CASE("colours: what finds none free of 63 has the last, whose items are visited one after the other") {
  const auto given = random_pairs(12, 2000, 9);
  const numerics::Colouring c = coloured(12, given, numerics::WhenFull::take_in_turn);
  CHECK(std::ranges::equal(c.colours(), lowest_free(12, given, 63)));
  REQUIRE(c.size() == 64);
  CHECK(c.extent(63) == std::pair(c.first()[63], c.first()[63] + 1));
  std::vector<std::int32_t> visited;
  c.visit(63, c.first()[63], c.first()[63] + 1, [&](std::int32_t i) { visited.push_back(i); });
  CHECK(std::ssize(visited) == c.first()[64] - c.first()[63]);
  CHECK(std::ranges::is_sorted(visited));
  // Opening more colours takes no item in turn.
  const numerics::Colouring more = coloured(12, given, numerics::WhenFull::open_more);
  CHECK(more.size() > 64);
  for (Index k = 0; k < more.size(); ++k) CHECK(more.extent(k) == std::pair(more.first()[k], more.first()[k + 1]));
}
