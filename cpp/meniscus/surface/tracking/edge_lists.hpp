/// Lists of the edges that an operation is to look at, in an order that follows from the mesh alone.
#pragma once

#include "meniscus/mesh/dynamic/dynamic_surface.hpp"

#include <tuple>

namespace meniscus::surface {

struct RankedEdge {
  /// Lowest first.
  double rank;
  std::int32_t a, b;
};

/// The edges of live triangles for which rank(a, b) is not 0, with a < b, by rank and then by their vertices.
template <class Rank>
void collect_edges(const mesh::DynamicSurface& surface, std::span<const std::int32_t> triangles, std::vector<RankedEdge>& out,
                   Rank&& rank) {
  out.clear();
  for (const std::int32_t t : triangles) {
    if (t >= surface.slots() || !surface.alive(t)) continue;
    const mesh::Triangle& c = surface.triangle(t);
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int32_t a = std::min(c[k], c[(k + 1) % 3]), b = std::max(c[k], c[(k + 1) % 3]);
      const double r = rank(a, b);
      if (r != 0) out.push_back({r, a, b});
    }
  }
  const auto key = [](const RankedEdge& e) { return std::tuple(e.rank, e.a, e.b); };
  std::sort(out.begin(), out.end(), [&](const RankedEdge& x, const RankedEdge& y) { return key(x) < key(y); });
  out.erase(
      std::unique(out.begin(), out.end(), [](const RankedEdge& x, const RankedEdge& y) { return x.a == y.a && x.b == y.b; }),
      out.end());
}

}  // namespace meniscus::surface
