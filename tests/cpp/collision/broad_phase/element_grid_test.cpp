// Tests of the grid of boxes while elements come and go, and move far out of its region.
#include "meniscus/collision/broad_phase/element_grid.hpp"

#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

using namespace meniscus;

namespace {

/// Boxes of very different sizes; `spread` is how far apart they lie.
mesh::Box random_box(std::uint64_t seed, Index i, double spread) {
  const auto draw = [&](std::uint32_t k) { return CounterRandom(seed, static_cast<std::uint64_t>(i), 0).uniform2(k); };
  const mesh::Point low(spread * draw(0)[0], spread * draw(0)[1], spread * draw(1)[0]);
  const double size = i % 50 == 0 ? 3.0 : 0.1 * draw(1)[1];
  return {low, low + mesh::Point::Constant(size)};
}

std::vector<std::int32_t> found_in(const collision::ElementGrid& grid, const mesh::Box& query) {
  std::vector<std::int32_t> found;
  grid.for_each_overlap(query, [&](std::int32_t e) { found.push_back(e); });
  std::sort(found.begin(), found.end());
  return found;
}

/// The grid finds what is there, each element once.
void check_queries(const collision::ElementGrid& grid, const std::map<std::int32_t, mesh::Box>& there) {
  for (Index q = 0; q < 60; ++q) {
    const mesh::Box query = random_box(99, q, 2.0);
    std::vector<std::int32_t> expected;
    for (const auto& [element, box] : there)
      if (box.overlaps(query)) expected.push_back(element);
    CHECK(found_in(grid, query) == expected);
  }
}

}  // namespace

TEST_CASE("elements of a grid come and go one at a time") {
  std::vector<mesh::Box> boxes;
  std::map<std::int32_t, mesh::Box> there;
  for (Index i = 0; i < 400; ++i) {
    boxes.push_back(random_box(1, i, 1.0));
    there[static_cast<std::int32_t>(i)] = boxes.back();
  }
  collision::ElementGrid grid;
  Workspace workspace;
  grid.build(boxes, workspace);
  check_queries(grid, there);
  for (std::int32_t round = 0; round < 8; ++round) {
    // A third leaves; half of those return elsewhere, partly beyond the region; new ones come.
    for (std::int32_t e = round % 3; e < 400; e += 3) {
      if (!grid.contains(e)) continue;
      grid.remove(e);
      there.erase(e);
      CHECK_FALSE(grid.contains(e));
      if (e % 2 == 0) continue;
      there[e] = random_box(static_cast<std::uint64_t>(2 + round), e, 10.0);
      grid.insert(e, there[e]);
    }
    for (std::int32_t e = 400 + 10 * round; e < 410 + 10 * round; ++e) {
      there[e] = random_box(3, e, 1.5);
      grid.insert(e, there[e]);
    }
    check_queries(grid, there);
  }
  const auto all = there;
  for (const auto& [element, box] : all) grid.remove(element);
  there.clear();
  check_queries(grid, there);
}

TEST_CASE("a grid that starts empty takes elements, and refuses what makes no sense") {
  collision::ElementGrid grid({mesh::Point::Zero(), mesh::Point::Ones()}, 0.1, 200);
  CHECK(product<3>(grid.cells()) <= 200);
  std::map<std::int32_t, mesh::Box> there;
  for (std::int32_t e = 0; e < 100; ++e) {
    there[e] = random_box(4, e, 1.0);
    grid.insert(e, there[e]);
  }
  check_queries(grid, there);
  CHECK_THROWS_WITH(grid.insert(5, there[5]), "element 5 is in the grid already");
  CHECK_THROWS_WITH(grid.insert(-1, there[5]), "elements of a grid have numbers from 0, not -1");
  CHECK_THROWS_WITH(grid.remove(1000), "element 1000 is not in the grid");
  collision::ElementGrid none;
  CHECK_THROWS_WITH(none.insert(0, there[0]), "a grid without a region cannot take elements");
}

TEST_CASE("the number of cells is bounded, however far the elements lie apart") {
  Workspace workspace;
  for (const double stretch : {1.0, 10.0, 1e5, 1e150, 1e305}) {
    std::vector<mesh::Box> boxes;
    std::map<std::int32_t, mesh::Box> there;
    for (Index i = 0; i < 1000; ++i) {
      mesh::Box b = random_box(5, i, 1.0);
      if (i % 10 == 0) b = {b.low * stretch, b.low * stretch + mesh::Point::Ones()};
      boxes.push_back(b);
      there[static_cast<std::int32_t>(i)] = b;
    }
    collision::ElementGrid grid;
    grid.build(boxes, workspace);
    CHECK(product<3>(grid.cells()) <= 2 * 1000 + 64);
    check_queries(grid, there);
  }
}
