#include "meniscus/fluids/tet_vof/thin_walls.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

constexpr double on_surface = 1e-9;  // of the distances from the surface that there are
constexpr double touching = 1e-6;    // of the length of a way: as near to the surface it counts as crossed
constexpr int most_steps = 48;       // of the search along a way

/// Ways from vertex to vertex.
struct Ways {
  std::vector<std::int32_t> tets, starts, ends;

  void add(std::int32_t tet, std::int32_t start, std::int32_t end) {
    tets.push_back(tet);
    starts.push_back(start);
    ends.push_back(end);
  }
};

/// The ways that may meet the solid: both ends are outside, and no farther from it together than they are long.
Ways possible_ways(const SolidInTets& solid) {
  const TetGraph& graph = solid.graph;
  std::vector<std::int32_t> cut;
  for (std::int32_t t = 0; t < graph.size(); ++t)
    if (solid.cut[t]) cut.push_back(t);
  double most = 0.0;
  for (const std::int32_t t : cut)
    for (const std::int32_t v : graph.tet(t)) most = std::max(most, std::abs(solid.phi[v]));
  // Vertices on the surface, but for rounding, are on no side of it.
  const auto outside = [&](std::int32_t v) { return solid.phi[v] > on_surface * most; };
  Ways ways;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = i + 1; j < 4; ++j)
      for (const std::int32_t t : cut) {
        const std::int32_t a = graph.tet(t)[i], b = graph.tet(t)[j];
        if (!outside(a) || !outside(b)) continue;
        if (solid.phi[a] + solid.phi[b] < (solid.positions[b] - solid.positions[a]).norm()) ways.add(t, a, b);
      }
  for (const std::int32_t t : cut) {
    const mesh::Tet& tet = graph.tet(t);
    if (std::ranges::count_if(tet, outside) != 1) continue;
    const auto apex = std::ranges::find_if(tet, outside) - tet.begin();
    const std::int32_t beyond = graph.neighbours(t)[apex];
    if (beyond < 0 || solid.inside[beyond]) continue;
    const mesh::Tet& other = graph.tet(beyond);
    const auto there = std::ranges::find_if(other, [&](std::int32_t v) { return std::ranges::find(tet, v) == tet.end(); });
    if (there != other.end() && outside(*there)) ways.add(t, tet[apex], *there);
  }
  return ways;
}

/// Follows ways from their starts until they meet the solid; those still on their way after all steps graze it. Sets how far each
/// has gone, and leaves only those that meet it in `chosen` (numbers of ways).
void follow(const SolidInTets& solid, const std::vector<std::int32_t>& starts, const std::vector<std::int32_t>& ends,
            const surface::SignedDistance& distance, std::vector<Index>& chosen, std::vector<double>& gone) {
  const auto length = [&](Index w) { return (solid.positions[ends[w]] - solid.positions[starts[w]]).norm(); };
  for (const Index w : chosen) gone[w] = solid.phi[starts[w]];
  std::vector<Index> active = chosen, met;
  std::vector<mesh::Point> points;
  std::vector<double> values;
  for (int step = 0; step < most_steps && !active.empty(); ++step) {
    std::erase_if(active, [&](Index w) { return gone[w] >= length(w) - solid.phi[ends[w]]; });
    points.clear();
    for (const Index w : active) {
      const mesh::Point& x = solid.positions[starts[w]];
      points.push_back(x + gone[w] / length(w) * (solid.positions[ends[w]] - x));
    }
    values.resize(points.size());
    if (!points.empty()) distance(points, values);
    Index left = 0;
    for (Index k = 0; k < static_cast<Index>(points.size()); ++k) {
      const Index w = active[k];
      gone[w] += std::max(values[k], 0.0);
      if (values[k] <= std::min(touching * length(w), 0.5 * solid.phi[starts[w]])) {
        met.push_back(w);
      } else {
        active[left++] = w;
      }
    }
    active.resize(left);
  }
  met.insert(met.end(), active.begin(), active.end());
  std::ranges::sort(met);
  chosen = std::move(met);
}

}  // namespace

WaysThroughSolid ways_through_solid(const SolidInTets& solid, const surface::SignedDistance& distance) {
  const Ways ways = possible_ways(solid);
  std::vector<Index> chosen(ways.tets.size());
  for (Index w = 0; w < static_cast<Index>(chosen.size()); ++w) chosen[w] = w;
  std::vector<double> forth(chosen.size()), back(chosen.size());
  follow(solid, ways.starts, ways.ends, distance, chosen, forth);
  std::vector<Index> returned = chosen;
  follow(solid, ways.ends, ways.starts, distance, returned, back);
  WaysThroughSolid found;
  for (const Index w : chosen) {
    const mesh::Point &a = solid.positions[ways.starts[w]], &b = solid.positions[ways.ends[w]];
    const double length = (b - a).norm();
    found.tets.push_back(ways.tets[w]);
    found.first.push_back(a + forth[w] / length * (b - a));
    found.last.push_back(b + back[w] / length * (a - b));
    found.lengths.push_back(length);
  }
  return found;
}

}  // namespace meniscus::fluids
