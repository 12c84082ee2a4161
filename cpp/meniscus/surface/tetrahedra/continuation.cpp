#include "meniscus/surface/tetrahedra/continuation.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <vector>

namespace meniscus::surface {
namespace {

using mesh::Point;

constexpr Index chunk = 512;

/// A mean of values that are there.
struct Mean {
  Point normal = Point::Zero();
  Point velocity = Point::Zero();
  int count = 0;

  void add(const Point& n, const Point& v) {
    normal += n;
    velocity += v;
    ++count;
  }
  /// Opposite normals may cancel; then the last one counts.
  void store(const Point& last, Point& n, Point& v) const {
    const double length = normal.norm();
    n = length > 1e-8 ? Point(normal / length) : last;
    v = velocity / count;
  }
};

}  // namespace

void find_known(std::span<const mesh::Tet> tets, std::span<const double> phi, double band, std::span<const bool> cut,
                std::span<const bool> inside, bool closest, std::span<std::int8_t> known) {
  parallel_for(0, static_cast<Index>(tets.size()), 4096, [&](Index begin, Index end) {
    for (auto t = static_cast<std::size_t>(begin); t < static_cast<std::size_t>(end); ++t) {
      bool near = cut[t];
      if (closest && !near)
        for (const std::int32_t v : tets[t]) near = near || std::abs(phi[static_cast<std::size_t>(v)]) < band;
      known[t] = static_cast<std::int8_t>(inside[t] ? Known::apart : near ? Known::yes : Known::no);
    }
  });
}

void continue_outward(const mesh::VertexStars<4>& stars, std::span<const std::int8_t> known, std::span<Point> normal,
                      std::span<Point> velocity) {
  const auto z = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  const auto tets = stars.elements();
  const auto vertices = static_cast<std::size_t>(stars.vertices());
  constexpr auto no = static_cast<std::int8_t>(Known::no), yes = static_cast<std::int8_t>(Known::yes);
  constexpr std::int8_t of_this_layer = 3;
  std::vector<std::int8_t> state(known.begin(), known.end());
  std::vector<bool> reached(vertices, false);
  std::vector<Point> node_normal(vertices), node_velocity(vertices);
  std::vector<std::int32_t> new_tets, new_nodes;
  for (std::size_t t = 0; t < tets.size(); ++t)
    if (state[t] == yes) new_tets.push_back(static_cast<std::int32_t>(t));
  while (!new_tets.empty()) {
    new_nodes.clear();
    for (const std::int32_t t : new_tets)
      for (const std::int32_t v : tets[z(t)])
        if (!reached[z(v)]) {
          reached[z(v)] = true;
          new_nodes.push_back(v);
        }
    parallel_for(0, static_cast<Index>(new_nodes.size()), chunk, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const std::size_t v = z(new_nodes[static_cast<std::size_t>(i)]);
        Mean mean;
        Point last = Point::UnitX();
        for (const std::int32_t corner : stars.at(static_cast<Index>(v))) {
          const std::size_t t = z(corner / 4);
          if (state[t] == yes) mean.add(last = normal[t], velocity[t]);
        }
        mean.store(last, node_normal[v], node_velocity[v]);
      }
    });
    new_tets.clear();
    for (const std::int32_t v : new_nodes)
      for (const std::int32_t corner : stars.at(v)) {
        const std::int32_t t = corner / 4;
        if (state[z(t)] == no) {
          state[z(t)] = of_this_layer;
          new_tets.push_back(t);
        }
      }
    parallel_for(0, static_cast<Index>(new_tets.size()), chunk, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const std::size_t t = z(new_tets[static_cast<std::size_t>(i)]);
        Mean mean;
        Point last = Point::UnitX();
        for (const std::int32_t v : tets[t])
          if (reached[z(v)]) mean.add(last = node_normal[z(v)], node_velocity[z(v)]);
        mean.store(last, normal[t], velocity[t]);
      }
    });
    for (const std::int32_t t : new_tets) state[z(t)] = yes;
  }
}

}  // namespace meniscus::surface
