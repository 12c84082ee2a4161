#include "meniscus/mesh/voronoi/edge_rings.hpp"

#include "meniscus/core/cancellation.hpp"

namespace meniscus::mesh {
namespace {

/// By two corners: the number of the edge between them in `tet_edges`.
constexpr std::array<std::array<std::uint8_t, 4>, 4> edge_between{{{0, 0, 1, 2}, {0, 0, 3, 4}, {1, 3, 0, 5}, {2, 4, 5, 0}}};

std::size_t slot_of(const Tet& t, std::int32_t v) {
  std::size_t k = 0;
  while (t[k] != v) ++k;
  return k;
}

}  // namespace

EdgeRings::EdgeRings(const LinkedTets& linked, std::int32_t vertices) {
  std::vector<std::uint8_t> done(linked.tets.size(), 0);
  edges.reserve(8 * Index{vertices} + 1);
  tets.reserve(6 * linked.tets.size());
  for (std::size_t t = 0; t < linked.tets.size(); ++t) {
    if (t % 65536 == 0) check_interrupt();
    for (std::size_t e = 0; e < 6; ++e) {
      if ((done[t] >> e & 1) != 0) continue;
      std::size_t i = tet_edges[e][0], j = tet_edges[e][1];
      const Tet& first = linked.tets[t];
      if (first[i] > first[j]) std::swap(i, j);
      const std::int32_t a = first[i], b = first[j];
      if (b >= vertices) continue;
      edges.push_back({a, b, static_cast<std::int64_t>(tets.size())});
      // Of the other two corners, the one that is left behind: a, b, it, and the other are a positive tetrahedron.
      const auto& [p, q, r] = tet_faces[i];
      std::size_t behind = p == j ? q : q == j ? r : p;
      std::int32_t at = static_cast<std::int32_t>(t);
      do {
        const Tet& tet = linked.tets[at];
        tets.push_back(at);
        i = slot_of(tet, a);
        j = slot_of(tet, b);
        done[at] = static_cast<std::uint8_t>(done[at] | 1u << edge_between[i][j]);
        const std::size_t ahead = 6 - i - j - behind;
        const std::int32_t next = linked.neighbours[at][behind];
        // What is ahead now is left behind in the next one.
        behind = slot_of(linked.tets[next], tet[ahead]);
        at = next;
      } while (at != static_cast<std::int32_t>(t));
    }
  }
  edges.push_back({0, 0, static_cast<std::int64_t>(tets.size())});
}

}  // namespace meniscus::mesh
