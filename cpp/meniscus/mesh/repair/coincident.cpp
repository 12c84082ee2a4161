#include "meniscus/mesh/repair/coincident.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/search/box_tree.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <algorithm>
#include <numeric>

namespace meniscus::mesh {
namespace {

/// Numbers of the positions, those with the same coordinates side by side, the lowest first.
std::vector<std::int32_t> sorted_positions(std::span<const Point> x) {
  std::vector<std::int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const Point& p = x[a];
    const Point& q = x[b];
    return p[0] != q[0] ? p[0] < q[0] : p[1] != q[1] ? p[1] < q[1] : p[2] != q[2] ? p[2] < q[2] : a < b;
  });
  return order;
}

}  // namespace

std::vector<std::int32_t> coincident_positions(std::span<const Point> positions, double tolerance) {
  std::vector<std::int32_t> first(positions.size());
  const std::vector<std::int32_t> order = sorted_positions(positions);
  std::vector<std::int32_t> distinct;
  for (const std::int32_t v : order) {
    if (distinct.empty() || positions[v] != positions[distinct.back()]) distinct.push_back(v);
    first[v] = distinct.back();
  }
  if (!(tolerance > 0)) return first;
  std::vector<Box> boxes(distinct.size());
  for (std::size_t i = 0; i < distinct.size(); ++i)
    for (const double side : {-0.5, 0.5}) boxes[i].add(positions[distinct[i]] + Point::Constant(side * tolerance));
  const BoxTree tree(boxes);
  parallel_for(0, tree.leaves(), 64, [&](Index begin, Index end) {
    for (Index leaf = begin; leaf < end; ++leaf)
      tree.any_pair(leaf, [&](Index a, Index b) {
        const std::int32_t v = distinct[tree.element(a)], w = distinct[tree.element(b)];
        if ((positions[v] - positions[w]).squaredNorm() <= tolerance * tolerance) numerics::concurrent_unite(first.data(), v, w);
        return false;
      });
  });
  for (std::size_t v = 0; v < first.size(); ++v) first[v] = numerics::root_of(first.data(), static_cast<std::int32_t>(v));
  return first;
}

}  // namespace meniscus::mesh
