// Tests of the broad phase: pairs in blocks equal those in lists, on all threads, end early on request, and need no allocations.
#include "counting_new.hpp"

#include "meniscus/collision/broad_phase/broad_phase.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

using namespace meniscus;
using meniscus::testing::new_calls;

namespace {

/// A strip of triangles that is folded up in a small box, and its boxes.
struct Strip {
  explicit Strip(std::int32_t n) : vertices(static_cast<std::size_t>(n)), boxes(vertices.size()) {
    std::vector<std::int32_t> numbers(vertices.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    std::vector<std::int32_t> edge_corners;
    std::vector<std::int32_t> face_corners;
    for (std::int32_t i = 0; i + 2 < n; ++i) {
      edge_corners.insert(edge_corners.end(), {i, i + 1});
      face_corners.insert(face_corners.end(), {i, i + 1, i + 2});
    }
    corners = collision::ElementTree(numbers, 1);
    edges = collision::ElementTree(edge_corners, 2);
    faces = collision::ElementTree(face_corners, 3);
    fold(1);
    for (collision::ElementTree* t : {&corners, &edges, &faces}) t->build(boxes, workspace);
  }

  void fold(std::uint64_t seed) {
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      const auto draw = [&](std::uint32_t k) { return CounterRandom(seed, i, 0).uniform2(k); };
      const double t = static_cast<double>(i) * 0.01;
      vertices[i] = mesh::Point(t - std::floor(t), 0.05 * draw(0)[0], 0.1 * draw(0)[1]);
    }
    collision::swept_boxes(vertices, vertices, 0, boxes);
  }
  void refit() {
    for (collision::ElementTree* t : {&corners, &edges, &faces}) t->refit(boxes);
  }
  std::array<collision::PairQuery, 3> queries() const {
    return {collision::PairQuery{.first = &corners, .second = &faces}, collision::PairQuery{.first = &edges, .second = &edges},
            collision::PairQuery{.first = &edges, .second = &faces}};
  }

  std::vector<mesh::Point> vertices;
  std::vector<mesh::Box> boxes;
  Workspace workspace;
  collision::ElementTree corners, edges, faces;
};

std::vector<collision::ElementPair> list(const collision::PairQuery& query, collision::PairScratch& scratch) {
  const collision::PairList found(query, scratch);
  std::vector<collision::ElementPair> pairs(static_cast<std::size_t>(found.size()));
  found.write(pairs);
  return pairs;
}

/// The pairs of all blocks, chunk by chunk.
std::vector<collision::ElementPair> in_blocks(const collision::PairQuery& query, collision::PairScratch& scratch) {
  std::vector<std::vector<collision::ElementPair>> of_chunk(static_cast<std::size_t>(collision::chunks_of(query)));
  collision::for_each_candidate(query, scratch, [&](const collision::PairBlock& block) {
    auto& pairs = of_chunk[block.chunk];
    pairs.insert(pairs.end(), block.pairs.begin(), block.pairs.end());
    return true;
  });
  std::vector<collision::ElementPair> all;
  for (const auto& pairs : of_chunk) all.insert(all.end(), pairs.begin(), pairs.end());
  return all;
}

}  // namespace

TEST_CASE("blocks hold the pairs of the list, with their corners, in an order that is always the same") {
  const int before = num_threads();
  const Strip strip(6000);
  collision::PairScratch scratch;
  for (const collision::PairQuery& query : strip.queries()) {
    set_num_threads(1);
    const auto expected = list(query, scratch);
    CHECK(expected.size() > 10000);
    CHECK(std::is_sorted(expected.begin(), expected.end()));
    const auto one = in_blocks(query, scratch);
    auto sorted = one;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == expected);
    for (const int threads : {2, 3, 5, 8}) {
      set_num_threads(threads);
      CHECK(in_blocks(query, scratch) == one);
    }
    collision::for_each_candidate(query, scratch, [&](const collision::PairBlock& block) {
      bool right = block.pairs.size() <= collision::PairBlock::capacity && !block.pairs.empty();
      for (std::size_t i = 0; i < block.stencils.size(); ++i) {
        const auto [p, q] = block.pairs[i];
        const collision::Stencil wanted =
            query.first == &strip.corners ? collision::Stencil{p, q, q + 1, q + 2} : collision::Stencil{p, p + 1, q, q + 1};
        right = right && block.stencils[i] == wanted;
      }
      return right;
    });
  }
  set_num_threads(before);
}

TEST_CASE("a search ends when its sink says so") {
  const int before = num_threads();
  const Strip strip(6000);
  collision::PairScratch scratch;
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    for (const collision::PairQuery& query : strip.queries()) {
      std::atomic<int> calls{0};
      collision::for_each_candidate(query, scratch, [&](const collision::PairBlock&) { return ++calls < 3; });
      CHECK(calls.load() >= 3);
      CHECK(calls.load() <= 2 + threads);
    }
  }
  set_num_threads(before);
}

TEST_CASE("marks leave what has a marked vertex") {
  const Strip strip(3000);
  collision::PairScratch scratch;
  std::vector<std::uint8_t> flags(strip.vertices.size(), 0);
  for (std::size_t i = 700; i < 720; ++i) flags[i] = 1;
  const auto marked = [&](std::int32_t first, std::int32_t count) {
    return std::any_of(flags.begin() + first, flags.begin() + first + count, [](std::uint8_t f) { return f != 0; });
  };
  collision::ElementMarks corners, edges, faces;
  corners.mark(strip.corners, flags);
  edges.mark(strip.edges, flags);
  faces.mark(strip.faces, flags);
  auto queries = strip.queries();
  const std::array<std::array<const collision::ElementMarks*, 2>, 3> marks{
      {{&corners, &faces}, {&edges, &edges}, {&edges, &faces}}};
  const std::array<std::array<std::int32_t, 2>, 3> count{{{1, 3}, {2, 2}, {2, 3}}};
  for (std::size_t k = 0; k < queries.size(); ++k) {
    std::vector<collision::ElementPair> expected;
    for (const collision::ElementPair& p : list(queries[k], scratch))
      if (marked(p[0], count[k][0]) || marked(p[1], count[k][1])) expected.push_back(p);
    CHECK(expected.size() > 100);
    queries[k].first_marks = marks[k][0];
    queries[k].second_marks = marks[k][1];
    CHECK(list(queries[k], scratch) == expected);
    auto found = in_blocks(queries[k], scratch);
    std::sort(found.begin(), found.end());
    CHECK(found == expected);
  }
}

TEST_CASE("a repeated refit and search allocates nothing") {
  const int before = num_threads();
  set_num_threads(1);  // more threads make TBB allocate tasks
  Strip strip(4000);
  collision::PairScratch scratch;
  std::size_t pairs = 0;
  const auto step = [&] {
    strip.refit();
    for (const collision::PairQuery& query : strip.queries()) {
      pairs += static_cast<std::size_t>(collision::PairList(query, scratch).size());
      collision::for_each_candidate(query, scratch, [&](const collision::PairBlock& block) {
        pairs += block.pairs.size();
        return true;
      });
    }
    return strip.edges.looseness();
  };
  step();
  const long long calls = new_calls();
  step();
  CHECK(new_calls() == calls);
  CHECK(pairs > 0);
  set_num_threads(before);
}
