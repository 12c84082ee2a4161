/// Rings of tetrahedra around the edges of a tetrahedral mesh.
#pragma once

#include "meniscus/mesh/triangulation/delaunay.hpp"

#include <vector>

namespace meniscus::mesh {

/// An edge between two vertices, a < b, and where its ring begins; the ring of the next edge ends it.
struct RingEdge {
  std::int32_t a, b;
  std::int64_t start;
};

/// The edges between the first `vertices` vertices, none of which is at the hull, in the order of the tetrahedra; behind them one
/// that ends the last ring. Rings go round counter-clockwise about the way from a to b.
struct EdgeRings {
  std::vector<RingEdge> edges;
  std::vector<std::int32_t> tets;

  EdgeRings(const LinkedTets& linked, std::int32_t vertices);
  Index size() const { return static_cast<Index>(edges.size()) - 1; }
  std::span<const std::int32_t> ring(Index edge) const {
    return std::span(tets).subspan(edges[edge].start, edges[edge + 1].start - edges[edge].start);
  }
};

}  // namespace meniscus::mesh
