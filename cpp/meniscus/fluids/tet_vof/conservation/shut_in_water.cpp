#include "meniscus/fluids/tet_vof/conservation/shut_in_water.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace meniscus::fluids {
namespace {

constexpr Index shut_in_chunk = 1 << 14;

mesh::Point centroid(const WaterRoom& room, std::int32_t t) {
  mesh::Point sum = mesh::Point::Zero();
  for (const std::int32_t v : room.graph.tet(t)) sum += 0.25 * room.positions[v];
  return sum;
}

std::int32_t rank_of(const WaterRoom& room, std::int32_t t) { return room.ranks[t]; }

/// The tetrahedra that can hold water at the smallest number of steps across faces, ascending; none if there is no way.
void search_enabled(const WaterRoom& room, std::int32_t from, bool through_solid, std::vector<std::int32_t>& found) {
  std::vector<std::int32_t> front{from}, next;
  std::unordered_set<std::int32_t> known{from};
  found.clear();
  while (!front.empty() && found.empty()) {
    next.clear();
    for (const std::int32_t t : front)
      for (const std::int32_t n : room.graph.neighbours(t)) {
        if (n < 0 || (rank_of(room, n) == rank_inside && !through_solid) || !known.insert(n).second) continue;
        next.push_back(n);
        if (rank_of(room, n) >= 0) found.push_back(n);
      }
    std::swap(front, next);
  }
  std::sort(found.begin(), found.end());
}

std::int32_t nearest_enabled(const WaterRoom& room, std::int32_t from) {
  const mesh::Point here = centroid(room, from);
  double least = std::numeric_limits<double>::infinity();
  std::int32_t nearest = -1;
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(room.graph.size()); ++t) {
    if (rank_of(room, t) < 0) continue;
    const double d = (centroid(room, t) - here).squaredNorm();
    if (!(d < least)) continue;
    least = d;
    nearest = t;
  }
  return nearest;
}

}  // namespace

void free_shut_in_water(const TetWater& water, const WaterRoom& room, const Quantum& quantum, Parcels& parcels,
                        Workspace& workspace) {
  const Index pieces = (room.graph.size() + shut_in_chunk - 1) / shut_in_chunk;
  parcels.begin(pieces);
  parallel_for(0, room.graph.size(), shut_in_chunk, [&](Index b, Index e) {
    auto& list = parcels.piece(b / shut_in_chunk);
    std::vector<std::int32_t> found;
    for (Index i = b; i < e; ++i) {
      const Index at = i;
      const auto t = static_cast<std::int32_t>(i);
      if (!(room.ranks[at] == rank_disabled && water.volume[at] > 0)) continue;
      search_enabled(room, t, false, found);
      if (found.empty()) search_enabled(room, t, true, found);
      if (found.empty())
        if (const std::int32_t n = nearest_enabled(room, t); n >= 0) found.assign(1, n);
      if (found.empty()) continue;
      double rest = water.volume[at];
      const double part = quantum.floor(rest / static_cast<double>(found.size()));
      for (std::size_t j = 0; j < found.size(); ++j) {
        const double v = j + 1 < found.size() ? part : rest;
        rest -= v;
        if (v > 0) list.push_back({v, water.velocity[at], found[j]});
      }
      water.volume[at] = 0;
      water.velocity[at].setZero();
    }
  });
  parcels.add_to(water, workspace);
}

}  // namespace meniscus::fluids
