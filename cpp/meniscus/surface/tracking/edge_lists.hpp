/// Lists of the edges that an operation is to look at, in an order that follows from the mesh alone.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/dynamic/dynamic_surface.hpp"

#include <tuple>

namespace meniscus::surface {

struct RankedEdge {
  /// Lowest first.
  double rank;
  std::int32_t a, b;
};

/// Memory that is kept from one list to the next.
struct EdgeList {
  std::vector<RankedEdge> edges;
  /// Of chunks of triangles.
  std::vector<std::vector<RankedEdge>> found;
};

/// Which triangles of an edge are asked: with an even number of triangles, half of them traverse it from its lower end.
enum class AskAt { every_triangle, ascending_ones };

/// Fills the list with the edges of live triangles for which rank(a, b) is not 0, with a < b, by rank and then by their vertices.
/// `rank` must not change anything: it is called from several threads.
template <class Rank>
void collect_edges(const mesh::DynamicSurface& surface, std::span<const std::int32_t> triangles, AskAt ask, EdgeList& list,
                   Rank&& rank) {
  constexpr Index chunk = 1024;
  const auto n = static_cast<Index>(triangles.size());
  if (std::ssize(list.found) < (n + chunk - 1) / chunk) list.found.resize((n + chunk - 1) / chunk);
  for (auto& part : list.found) part.clear();
  parallel_for(0, n, chunk, [&](Index begin, Index end) {
    auto& part = list.found[begin / chunk];
    for (Index i = begin; i < end; ++i) {
      const std::int32_t t = triangles[i];
      if (t >= surface.slots() || !surface.alive(t)) continue;
      const mesh::Triangle& c = surface.triangle(t);
      for (std::size_t k = 0; k < 3; ++k) {
        if (ask == AskAt::ascending_ones && c[k] > c[(k + 1) % 3]) continue;
        const std::int32_t a = std::min(c[k], c[(k + 1) % 3]), b = std::max(c[k], c[(k + 1) % 3]);
        const double r = rank(a, b);
        if (r != 0) part.push_back({r, a, b});
      }
    }
  });
  std::vector<RankedEdge>& out = list.edges;
  out.clear();
  for (const auto& part : list.found) out.insert(out.end(), part.begin(), part.end());
  const auto key = [](const RankedEdge& e) { return std::tuple(e.rank, e.a, e.b); };
  std::sort(out.begin(), out.end(), [&](const RankedEdge& x, const RankedEdge& y) { return key(x) < key(y); });
  out.erase(
      std::unique(out.begin(), out.end(), [](const RankedEdge& x, const RankedEdge& y) { return x.a == y.a && x.b == y.b; }),
      out.end());
}

}  // namespace meniscus::surface
