// Tests of the box tree: every element in one leaf, boxes that contain what lies below, searches that find what a loop
// over all elements finds, the same tree on any number of threads, and no allocations when it is built again.
#include "counting_new.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/mesh/search/box_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

using namespace meniscus;

namespace {

/// Small boxes at random places; every third one at the same place, so that places on the curve repeat.
std::vector<mesh::Box> random_boxes(Index n, std::uint64_t seed) {
  std::vector<mesh::Box> boxes;
  for (Index i = 0; i < n; ++i) {
    const auto draw = [&](std::uint32_t k) {
      return CounterRandom(seed, static_cast<std::uint64_t>(i % 3 == 0 ? 0 : i), 0).uniform2(k);
    };
    const mesh::Point center(draw(0)[0], draw(0)[1], draw(1)[0]);
    mesh::Box b;
    b.add(center);
    b.add(mesh::Point(center + mesh::Point::Constant(0.05 * draw(1)[1])));
    boxes.push_back(b);
  }
  return boxes;
}

bool contains(const mesh::Box& outer, const mesh::Box& inner) {
  return (outer.low.array() <= inner.low.array()).all() && (inner.high.array() <= outer.high.array()).all();
}

template <class Visit>
void for_each_node(const mesh::BoxTree& tree, Visit&& visit) {
  Index below = tree.leaves();
  for (int level = 0; level < tree.levels(); ++level) {
    below = (below + mesh::lanes - 1) / mesh::lanes;
    for (Index i = 0; i < below; ++i) visit(level, i);
  }
}

bool same(const mesh::BoxTree& a, const mesh::BoxTree& b) {
  bool yes = a.size() == b.size() && a.levels() == b.levels();
  for (Index s = 0; yes && s < a.size(); ++s) yes = a.element(s) == b.element(s);
  for (Index i = 0; yes && i < a.leaves(); ++i)
    yes = a.leaf_box(i).low == b.leaf_box(i).low && a.leaf_box(i).high == b.leaf_box(i).high;
  for_each_node(a, [&](int level, Index i) {
    for (int k = 0; yes && k < a.children(level, i); ++k) {
      const mesh::Box p = mesh::box_of_lane(a.node(level, i), k), q = mesh::box_of_lane(b.node(level, i), k);
      yes = p.low == q.low && p.high == q.high;
    }
  });
  return yes;
}

}  // namespace

TEST_CASE("a box tree contains every element once, in boxes that contain it") {
  for (const Index n : {0, 1, 7, 8, 9, 64, 65, 100, 5000}) {
    const auto boxes = random_boxes(n, 1);
    const mesh::BoxTree tree(boxes);
    REQUIRE(tree.size() == n);
    std::vector<std::int32_t> elements;
    for (Index s = 0; s < n; ++s) elements.push_back(tree.element(s));
    std::sort(elements.begin(), elements.end());
    std::vector<std::int32_t> all(boxes.size());
    std::iota(all.begin(), all.end(), 0);
    CHECK(elements == all);
    Index in_leaves = 0;
    for (Index i = 0; i < tree.leaves(); ++i) {
      in_leaves += tree.count(i);
      for (int k = 0; k < tree.count(i); ++k) {
        const mesh::Box& box = boxes[tree.elements(i)[k]];
        CHECK(mesh::box_of_lane(tree.leaf(i), k).low == box.low);
        CHECK(mesh::box_of_lane(tree.leaf(i), k).high == box.high);
        CHECK(contains(tree.leaf_box(i), box));
      }
    }
    CHECK(in_leaves == n);
    for_each_node(tree, [&](int level, Index i) {
      for (int k = 0; k < tree.children(level, i); ++k) {
        const mesh::Box box = mesh::box_of_lane(tree.node(level, i), k);
        const Index child = i * mesh::lanes + k;
        if (level == 0) {
          CHECK(contains(box, tree.leaf_box(child)));
          continue;
        }
        for (int j = 0; j < tree.children(level - 1, child); ++j)
          CHECK(contains(box, mesh::box_of_lane(tree.node(level - 1, child), j)));
      }
    });
  }
}

TEST_CASE("searches find what a loop over all boxes finds") {
  const auto boxes = random_boxes(3000, 2);
  const mesh::BoxTree tree(boxes);
  for (std::uint32_t q = 0; q < 50; ++q) {
    const auto xy = CounterRandom(3, q, 0).uniform2(0);
    const mesh::Point p(1.4 * xy[0] - 0.2, 1.4 * xy[1] - 0.2, 0.5);
    double nearest = std::numeric_limits<double>::infinity();
    for (const mesh::Box& b : boxes) nearest = std::min(nearest, mesh::squared_distance(b, p));
    double limit = std::numeric_limits<double>::infinity();
    Index visited = 0;
    tree.for_each_near(p, limit, [&](Index slot) {
      ++visited;
      const double distance = mesh::squared_distance(boxes[tree.element(slot)], p);
      CHECK(distance <= limit);
      limit = distance;
    });
    CHECK(limit == nearest);
    CHECK(visited < 1000);  // the rest has been pruned

    mesh::Box around;
    around.add(mesh::Point(p - mesh::Point::Constant(0.1)));
    around.add(mesh::Point(p + mesh::Point::Constant(0.1)));
    const auto count = std::count_if(boxes.begin(), boxes.end(), [&](const mesh::Box& b) { return b.overlaps(around); });
    Index found = 0;
    tree.for_each_overlap(around, [&](Index slot) {
      CHECK(boxes[tree.element(slot)].overlaps(around));
      ++found;
    });
    CHECK(found == count);
    Index asked = 0;
    CHECK(tree.any_overlap(around, [&](Index) { return ++asked == std::min<Index>(2, count); }) == (count > 0));
    CHECK(asked == std::min<Index>(2, count));
  }
}

TEST_CASE("leaves give every pair of overlapping boxes once") {
  const auto boxes = random_boxes(1003, 7);
  const mesh::BoxTree tree(boxes);
  std::vector<std::pair<Index, Index>> found, expected;
  for (Index leaf = 0; leaf < tree.leaves(); ++leaf)
    CHECK_FALSE(tree.any_pair(leaf, [&](Index first, Index second) {
      CHECK(first / mesh::lanes == leaf);
      found.emplace_back(first, second);
      return false;
    }));
  for (Index i = 0; i < tree.size(); ++i)
    for (Index j = i + 1; j < tree.size(); ++j)
      if (boxes[tree.element(i)].overlaps(boxes[tree.element(j)])) expected.emplace_back(i, j);
  std::sort(found.begin(), found.end());
  CHECK(found == expected);
  CHECK(found.size() > 100);
  // The search ends with the first pair that is accepted.
  const Index leaf = expected[0].first / mesh::lanes;
  Index asked = 0;
  CHECK(tree.any_pair(leaf, [&](Index, Index) { return ++asked == 1; }));
  CHECK(asked == 1);
}

TEST_CASE("a box tree does not depend on threads, takes new boxes, and is built again without allocations") {
  const int before = num_threads();
  const auto boxes = random_boxes(20000, 4);
  const auto moved = random_boxes(20000, 5);
  set_num_threads(1);
  const mesh::BoxTree one(boxes);
  mesh::BoxTree one_moved = one;
  one_moved.refit(moved);
  for (const int threads : {2, 3, 5, 8}) {
    set_num_threads(threads);
    mesh::BoxTree many(boxes);
    CHECK(same(one, many));
    many.refit(moved);
    CHECK(same(one_moved, many));
    CHECK_FALSE(same(one, many));
  }
  set_num_threads(1);
  Workspace workspace;
  mesh::BoxTree again;
  again.build(boxes, workspace);
  const auto allocated = testing::new_calls();
  again.build(moved, workspace);
  again.build(boxes, workspace);
  CHECK(testing::new_calls() == allocated);
  CHECK(same(one, again));
  set_num_threads(before);
}
