// Disjoint sets against searches through random graphs, in any order of the edges and by several threads.
#include "meniscus/numerics/graph/disjoint_sets.hpp"
#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>
#include <vector>

using namespace meniscus;

namespace {

using Edge = std::array<std::int32_t, 2>;

std::vector<Edge> random_edges(std::int32_t nodes, int edges, std::uint64_t seed) {
  std::vector<Edge> result;
  for (int k = 0; k < edges; ++k) {
    const auto u = CounterRandom(seed, static_cast<std::uint64_t>(k), 0).uniform2(0);
    result.push_back({static_cast<std::int32_t>(u[0] * nodes), static_cast<std::int32_t>(u[1] * nodes)});
  }
  return result;
}

/// The lowest node that each node is connected to, found by passing it on along all edges until nothing changes.
std::vector<std::int32_t> lowest_connected(std::int32_t nodes, const std::vector<Edge>& edges) {
  std::vector<std::int32_t> lowest(nodes);
  for (std::int32_t i = 0; i < nodes; ++i) lowest[i] = i;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [a, b] : edges) {
      const std::int32_t low = std::min(lowest[a], lowest[b]);
      changed = changed || lowest[a] != low || lowest[b] != low;
      lowest[a] = lowest[b] = low;
    }
  }
  return lowest;
}

}  // namespace

TEST_CASE("disjoint sets: roots are the lowest connected members, in any order of the edges") {
  numerics::DisjointSets<std::int32_t> sets;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto nodes = static_cast<std::int32_t>(1 + seed % 37);
    std::vector<Edge> edges = random_edges(nodes, static_cast<int>(seed % 50), seed);
    const std::vector<std::int32_t> expected = lowest_connected(nodes, edges);
    for (const bool backward : {false, true}) {
      if (backward) std::reverse(edges.begin(), edges.end());
      sets.reset(nodes);
      for (const auto& [a, b] : edges) {
        const std::int32_t root = sets.join(a, b);
        CHECK(root == sets.root(a));
        CHECK(root == sets.root(b));
      }
      for (std::int32_t i = 0; i < nodes; ++i) CHECK(sets.root(i) == expected[i]);
    }
  }
}

TEST_CASE("components are numbered in the order of their first members") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto nodes = static_cast<std::int32_t>(1 + seed % 41);
    const std::vector<Edge> edges = random_edges(nodes, static_cast<int>(seed % 60), seed + 1000);
    const std::vector<std::int32_t> lowest = lowest_connected(nodes, edges);
    std::vector<std::int32_t> label(nodes);
    const std::int32_t count = numerics::label_components(std::span(label), [&](auto&& unite) {
      for (const auto& [a, b] : edges) unite(a, b);
    });
    std::int32_t next = 0;
    for (std::int32_t i = 0; i < nodes; ++i) CHECK(label[i] == (lowest[i] == i ? next++ : label[lowest[i]]));
    CHECK(count == next);
  }
}

TEST_CASE("several threads join the same sets") {
  constexpr std::int32_t nodes = 20000;
  constexpr int threads = 4;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const std::vector<Edge> edges = random_edges(nodes, 18000, seed);
    std::vector<std::int32_t> parent(nodes);
    std::iota(parent.begin(), parent.end(), 0);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        for (std::size_t k = static_cast<std::size_t>(t); k < edges.size(); k += threads)
          numerics::concurrent_unite(parent.data(), edges[k][0], edges[k][1]);
      });
    for (std::thread& t : team) t.join();
    numerics::DisjointSets<std::int32_t> alone(nodes);
    for (const auto& [a, b] : edges) alone.join(a, b);
    for (std::int32_t i = 0; i < nodes; ++i) REQUIRE(numerics::root_of(parent.data(), i) == alone.root(i));
  }
}

TEST_CASE("sets that are used again keep their memory") {
  numerics::DisjointSets<std::int32_t> sets(1000);
  const Index bytes = sets.bytes();
  for (const Index count : {Index{10}, Index{1000}, Index{0}}) {
    sets.reset(count);
    CHECK(sets.size() == count);
    CHECK(sets.bytes() == bytes);
    for (std::int32_t i = 0; i < sets.size(); ++i) CHECK(sets.root(i) == i);
  }
}
