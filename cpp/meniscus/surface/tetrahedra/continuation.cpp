#include "meniscus/surface/tetrahedra/continuation.hpp"

#include "meniscus/core/memory/joined_lists.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

namespace meniscus::surface {
namespace {

using mesh::Point;

constexpr Index fit_chunk = 512;

/// A mean of values that are there.
struct Mean {
  Point normal = Point::Zero();
  Point velocity = Point::Zero();
  int count = 0;

  /// The last one, which counts where opposite normals cancel.
  Point last = Point::UnitX();

  void add(const Point& n, const Point& v) {
    normal += last = n;
    velocity += v;
    ++count;
  }
  void store(Point& n, Point& v) const {
    const double length = normal.norm();
    n = length > 1e-8 ? Point(normal / length) : last;
    v = velocity / count;
  }
};

/// Calls node(v, has) for nodes of known tetrahedra and tet(t, has, last) for tetrahedra at these, at most so many layers; has(i)
/// tells which tetrahedra at the node, or nodes of the tetrahedron, have values. Calls of one layer run in parallel. With
/// `twice`, a layer is visited again when all of it has values; `last` is the visit that counts.
template <class Node, class Tetrahedron>
void visit_layers(const mesh::VertexStars<4>& stars, std::span<const std::int8_t> known, bool twice, Index layers, Node&& node,
                  Tetrahedron&& tet) {
  constexpr auto no = static_cast<std::int8_t>(Known::no), yes = static_cast<std::int8_t>(Known::yes);
  constexpr std::int8_t of_this_layer = 3;
  const auto tets = stars.elements();
  std::vector<std::int8_t> state(known.begin(), known.end());
  std::vector<std::int8_t> reached(stars.vertices(), 0);
  std::vector<std::int32_t> new_tets, new_nodes;
  JoinedLists<std::int32_t> lists;
  const auto is_first = [](std::int8_t& value, std::int8_t from, std::int8_t to) {
    std::atomic_ref<std::int8_t> v(value);
    std::int8_t expected = from;
    return v.load(std::memory_order_relaxed) == from && v.compare_exchange_strong(expected, to, std::memory_order_relaxed);
  };
  // Fills `next` with what visit(i, found) finds from those of a list. Its order does not matter to what is done with it.
  const auto advance = [&](const std::vector<std::int32_t>& from, std::vector<std::int32_t>& next, auto&& visit) {
    lists.fill(static_cast<Index>(from.size()), fit_chunk, next,
               [&](Index i, std::vector<std::int32_t>& found) { visit(from[i], found); });
  };
  for (std::size_t t = 0; t < tets.size(); ++t)
    if (state[t] == yes) new_tets.push_back(static_cast<std::int32_t>(t));
  for (Index layer = 0; layer < layers && !new_tets.empty(); ++layer) {
    advance(new_tets, new_nodes, [&](std::int32_t t, std::vector<std::int32_t>& found) {
      for (const std::int32_t v : tets[t])
        if (is_first(reached[v], 0, 1)) found.push_back(v);
    });
    const auto visit_nodes = [&] {
      parallel_for(0, static_cast<Index>(new_nodes.size()), fit_chunk, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) node(new_nodes[i], [&](std::int32_t t) { return state[t] == yes; });
      });
    };
    visit_nodes();
    advance(new_nodes, new_tets, [&](std::int32_t v, std::vector<std::int32_t>& found) {
      for (const std::int32_t corner : stars.at(v))
        if (is_first(state[corner / 4], no, of_this_layer)) found.push_back(corner / 4);
    });
    const auto visit_tets = [&](bool last) {
      parallel_for(0, static_cast<Index>(new_tets.size()), fit_chunk, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) tet(new_tets[i], [&](std::int32_t v) { return reached[v] != 0; }, last);
      });
    };
    visit_tets(!twice);
    for (const std::int32_t t : new_tets) state[t] = yes;
    if (twice) {
      visit_nodes();
      visit_tets(true);
    }
  }
}

}  // namespace

void find_known(std::span<const mesh::Tet> tets, std::span<const double> phi, double band, std::span<const bool> cut,
                std::span<const bool> inside, bool closest, std::span<std::int8_t> known) {
  parallel_for(0, static_cast<Index>(tets.size()), 4096, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      bool near = cut[t];
      if (closest && !near)
        for (const std::int32_t v : tets[t]) near = near || std::abs(phi[v]) < band;
      known[t] = static_cast<std::int8_t>(inside[t] ? Known::apart : near ? Known::yes : Known::no);
    }
  });
}

void continue_averages(const mesh::VertexStars<4>& stars, std::span<const std::int8_t> known, Index layers,
                       std::span<Point> normal, std::span<Point> velocity) {
  const Index vertices = stars.vertices();
  std::vector<Point> node_normal(vertices), node_velocity(vertices);
  visit_layers(
      stars, known, false, layers,
      [&](std::int32_t v, auto&& has) {
        Mean mean;
        for (const std::int32_t corner : stars.at(v))
          if (has(corner / 4)) mean.add(normal[corner / 4], velocity[corner / 4]);
        mean.store(node_normal[v], node_velocity[v]);
      },
      [&](std::int32_t t, auto&& has, bool) {
        Mean mean;
        for (const std::int32_t v : stars.elements()[t])
          if (has(v)) mean.add(node_normal[v], node_velocity[v]);
        mean.store(normal[t], velocity[t]);
      });
}

void continue_closest(const mesh::VertexStars<4>& stars, std::span<const Point> positions, std::span<const std::int8_t> known,
                      std::span<const std::int64_t> near, std::span<const Point> closest, Index layers, std::span<Point> normal,
                      std::span<Point> velocity) {
  // Of tetrahedra and nodes, the position in `near` of the one whose point they chose.
  std::vector<std::int32_t> of_tet(known.size(), -1), of_node(stars.vertices(), -1);
  for (std::size_t i = 0; i < near.size(); ++i) of_tet[near[i]] = static_cast<std::int32_t>(i);
  struct Choice {
    Point place;
    std::int32_t source = -1;
    double distance = std::numeric_limits<double>::infinity();
    void offer(std::int32_t s, const Point& point) {
      if (s == source) return;
      if (const double d = (point - place).squaredNorm(); d < distance || source < 0) {
        distance = d;
        source = s;
      }
    }
  };
  // Those that have values are those that have chosen.
  const auto node = [&](std::int32_t v, auto&&) {
    Choice choice{positions[v]};
    for (const std::int32_t corner : stars.at(v))
      if (const std::int32_t s = of_tet[corner / 4]; s >= 0) choice.offer(s, closest[s]);
    of_node[v] = choice.source;
  };
  const auto tet = [&](std::int32_t t, auto&&, bool last) {
    const mesh::Tet& corners = stars.elements()[t];
    Choice choice{0.25 * ((positions[corners[0]] + positions[corners[1]]) + (positions[corners[2]] + positions[corners[3]]))};
    Mean mean;
    for (const std::int32_t v : corners) {
      const std::int32_t s = of_node[v];
      if (s < 0) continue;
      choice.offer(s, closest[s]);
      if (!last) continue;
      const Index source = near[s];
      mean.add(normal[source], velocity[source]);
    }
    of_tet[t] = choice.source;
    if (last) mean.store(normal[t], velocity[t]);
  };
  // Where layers advance fast, the closest point reaches them from the side.
  visit_layers(stars, known, true, layers, node, tet);
}

}  // namespace meniscus::surface
