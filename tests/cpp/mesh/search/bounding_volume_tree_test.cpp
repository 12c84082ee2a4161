// Tests of the bounding volume tree: every primitive in one leaf, boxes that contain their children, nearest-first traversal,
// and the same tree on any number of threads.
#include "meniscus/mesh/search/bounding_volume_tree.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

using namespace meniscus;

namespace {

/// Small boxes at random places; every third one at the same place, so that Morton codes repeat.
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

bool same(const mesh::BoundingVolumeTree& a, const mesh::BoundingVolumeTree& b) {
  return std::ranges::equal(a.order(), b.order()) && std::ranges::equal(a.nodes(), b.nodes(), [](const auto& x, const auto& y) {
           return x.first == y.first && x.count == y.count && x.child == y.child && x.box.low == y.box.low &&
                  x.box.high == y.box.high;
         });
}

}  // namespace

TEST_CASE("a tree contains every primitive once") {
  for (const Index n : {0, 1, 4, 5, 8, 9, 100, 5000}) {
    const auto boxes = random_boxes(n, 1);
    const mesh::BoundingVolumeTree tree(boxes);
    std::vector<std::int32_t> sorted(tree.order().begin(), tree.order().end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int32_t> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    CHECK(sorted == all);
    Index in_leaves = 0;
    for (const auto& node : tree.nodes()) {
      CHECK(node.count >= 1);
      for (std::int32_t s = node.first; s < node.first + node.count; ++s) CHECK(contains(node.box, boxes[tree.order()[s]]));
      if (node.leaf()) {
        CHECK(node.count <= mesh::BoundingVolumeTree::leaf_size);
        in_leaves += node.count;
      } else {
        const auto& left = tree.node(node.child);
        const auto& right = tree.node(node.child + 1);
        CHECK(left.first == node.first);
        CHECK(right.first == left.first + left.count);
        CHECK(left.count + right.count == node.count);
      }
    }
    CHECK(in_leaves == n);
  }
}

TEST_CASE("traversals find what a loop over all primitives finds") {
  const auto boxes = random_boxes(3000, 2);
  const mesh::BoundingVolumeTree tree(boxes);
  for (std::uint32_t q = 0; q < 50; ++q) {
    const auto xy = CounterRandom(3, q, 0).uniform2(0);
    const mesh::Point p(1.4 * xy[0] - 0.2, 1.4 * xy[1] - 0.2, 0.5);
    double nearest = std::numeric_limits<double>::infinity();
    for (const mesh::Box& b : boxes) nearest = std::min(nearest, mesh::squared_distance(b, p));
    double limit = std::numeric_limits<double>::infinity();
    Index visited = 0;
    tree.traverse_nearest(
        limit, [&](const mesh::Box& b) { return mesh::squared_distance(b, p); },
        [&](const mesh::BoundingVolumeTree::Node& n) {
          ++visited;
          CHECK(mesh::squared_distance(n.box, p) <= limit);
          for (std::int32_t s = n.first; s < n.first + n.count; ++s)
            limit = std::min(limit, mesh::squared_distance(boxes[tree.order()[s]], p));
        });
    CHECK(limit == nearest);
    CHECK(visited < 1000);  // the rest has been pruned

    mesh::Box around;
    around.add(mesh::Point(p - mesh::Point::Constant(0.1)));
    around.add(mesh::Point(p + mesh::Point::Constant(0.1)));
    Index found = 0;
    tree.traverse([&](std::int32_t, const mesh::BoundingVolumeTree::Node& n) { return n.box.overlaps(around); },
                  [&](const mesh::BoundingVolumeTree::Node& n) {
                    for (std::int32_t s = n.first; s < n.first + n.count; ++s) found += boxes[tree.order()[s]].overlaps(around);
                  });
    CHECK(found == std::count_if(boxes.begin(), boxes.end(), [&](const mesh::Box& b) { return b.overlaps(around); }));
  }
}

TEST_CASE("a tree does not depend on threads, and takes new boxes") {
  const int before = num_threads();
  const auto boxes = random_boxes(20000, 4);
  const auto moved = random_boxes(20000, 5);
  set_num_threads(1);
  const mesh::BoundingVolumeTree one(boxes);
  mesh::BoundingVolumeTree one_moved = one;
  one_moved.refit(moved);
  for (const int threads : {2, 3, 5, 8}) {
    set_num_threads(threads);
    mesh::BoundingVolumeTree many(boxes);
    CHECK(same(one, many));
    many.refit(moved);
    CHECK(same(one_moved, many));
    CHECK_FALSE(same(one, many));
  }
  set_num_threads(before);
  for (const auto& node : one_moved.nodes()) {
    mesh::Box expected;
    for (std::int32_t s = node.first; s < node.first + node.count; ++s) expected.add(moved[one.order()[s]]);
    CHECK(node.box.low == expected.low);
    CHECK(node.box.high == expected.high);
  }
}
