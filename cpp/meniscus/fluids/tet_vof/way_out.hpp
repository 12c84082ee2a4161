/// The way out of tetrahedra that have no neighbour of a higher rank across a face.
///
/// Source: Lee 2018, sections 3.3.1 and 3.3.3, figure 3.6. There the search is for higher ranks alone; at the highest rank of a
/// basin it would then lead out of the mesh past all the room above the water.
#pragma once

#include "meniscus/fluids/tet_vof/tet_ranks.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>

namespace meniscus::fluids {

enum class WayOut : std::uint8_t { room, higher_rank, boundary, none };

/// The tetrahedra at the smallest number of steps across faces that have room; where none has, a higher rank; or lie at an open
/// boundary of the mesh; ascending. Tetrahedra inside of the solid are crossed only by a search that begins in one, disabled ones
/// never. `visited` is scratch memory.
template <class HasRoom>
WayOut search_outward(const TetGraph& graph, std::span<const std::int32_t> ranks, std::int32_t from, bool open_boundary,
                      HasRoom&& has_room, std::vector<std::int32_t>& found, std::vector<std::int32_t>& visited) {
  /// Tetrahedra that are remembered in a row before they are hashed.
  constexpr std::size_t short_search = 256;
  visited.assign(1, from);
  const std::int32_t own = ranks[static_cast<std::size_t>(from)];
  std::optional<std::unordered_set<std::int32_t>> known;
  const auto is_new = [&](std::int32_t t) {
    if (visited.size() <= short_search) return std::find(visited.begin(), visited.end(), t) == visited.end();
    if (!known) known.emplace(visited.begin(), visited.end());
    return known->insert(t).second;
  };
  const auto select = [&](std::span<const std::int32_t> ring, auto&& wanted) {
    found.clear();
    std::copy_if(ring.begin(), ring.end(), std::back_inserter(found), wanted);
    std::sort(found.begin(), found.end());
    return !found.empty();
  };
  for (std::size_t first = 0, end = 1; first < end; first = end, end = visited.size()) {
    const auto ring = std::span<const std::int32_t>(visited).subspan(first, end - first);
    const auto holds = [&](std::int32_t t) { return ranks[static_cast<std::size_t>(t)] >= 0; };
    if (select(ring, [&](std::int32_t t) { return t != from && holds(t) && has_room(t); })) return WayOut::room;
    if (select(ring, [&](std::int32_t t) { return ranks[static_cast<std::size_t>(t)] > own; })) return WayOut::higher_rank;
    if (open_boundary && select(ring, [&](std::int32_t t) { return holds(t) && graph.at_boundary(t); })) return WayOut::boundary;
    for (std::size_t i = first; i < end; ++i)
      for (const std::int32_t n : graph.neighbours(visited[i])) {
        if (n < 0) continue;
        const std::int32_t r = ranks[static_cast<std::size_t>(n)];
        if (r == rank_disabled || (r == rank_inside && own != rank_inside) || !is_new(n)) continue;
        visited.push_back(n);
      }
  }
  found.clear();
  return WayOut::none;
}

}  // namespace meniscus::fluids
