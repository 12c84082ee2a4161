/// Edge graph of a mesh of segments, triangles or tetrahedra: its edges, and the neighbours of each vertex over them.
#pragma once

#include "meniscus/mesh/topology/vertex_stars.hpp"

namespace meniscus::mesh {

/// All pairs of corners of an element are edges. Elements with a repeated corner are ignored.
class EdgeGraph {
 public:
  /// The lower vertex first.
  using Edge = std::array<std::int32_t, 2>;

  /// For N = 2, 3 and 4; parallel, and the same on any number of threads.
  template <std::size_t N>
  explicit EdgeGraph(const VertexStars<N>& stars);

  /// In ascending order.
  std::span<const Edge> edges() const { return edges_; }
  /// The neighbours of a vertex in ascending order: its one-ring.
  std::span<const std::int32_t> neighbours(Index vertex) const {
    const Index v = vertex;
    return {ring_.data() + ring_start_[v], static_cast<std::size_t>(ring_start_[v + 1] - ring_start_[v])};
  }
  /// Begin of each one-ring in `rings()`, and the end of the last.
  std::span<const std::int64_t> ring_starts() const { return ring_start_; }
  std::span<const std::int32_t> rings() const { return ring_; }
  Index vertices() const { return static_cast<Index>(ring_start_.size()) - 1; }

  /// The edge between two vertices; -1 if there is none.
  Index find(std::int32_t a, std::int32_t b) const;

 private:
  std::vector<std::int64_t> ring_start_;
  std::vector<std::int32_t> ring_;
  std::vector<Edge> edges_;
  std::vector<std::int64_t> edge_start_;
};

/// The edges of each element: N = 2: itself; N = 3: edge k is opposite of corner k; N = 4: in the order of `tet_edges`. -1 for
/// elements with a repeated corner. `out` has N (N - 1) / 2 values per element.
template <std::size_t N>
void find_element_edges(std::span<const std::array<std::int32_t, N>> elements, const EdgeGraph& graph,
                        std::span<std::int32_t> out);

/// Numbers the components of a mesh of segments, which hang together at vertices; returns their number.
std::int32_t label_segment_components(std::span<const std::array<std::int32_t, 2>> segments, Index vertices,
                                      std::span<std::int32_t> label);

}  // namespace meniscus::mesh
