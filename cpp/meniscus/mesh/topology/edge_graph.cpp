#include "meniscus/mesh/topology/edge_graph.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <algorithm>

namespace meniscus::mesh {
namespace {

constexpr Index edge_chunk = 1024;

template <std::size_t N>
bool repeats_edge(const std::array<std::int32_t, N>& element) {
  for (std::size_t i = 0; i < N; ++i)
    for (std::size_t j = i + 1; j < N; ++j)
      if (element[i] == element[j]) return true;
  return false;
}

}  // namespace

template <std::size_t N>
EdgeGraph::EdgeGraph(const VertexStars<N>& stars) {
  constexpr auto others = static_cast<std::int64_t>(N) - 1;
  const Index n = stars.vertices();
  const auto starts = stars.starts();
  // Each vertex sorts its neighbours in a place that is large enough for all of them; these are then moved together.
  std::vector<std::int32_t> gathered(static_cast<std::size_t>(others) * stars.corners().size());
  ring_start_.assign(static_cast<std::size_t>(n) + 1, 0);
  edge_start_.assign(static_cast<std::size_t>(n) + 1, 0);
  parallel_for(0, n, edge_chunk, [&](Index b, Index e) {
    for (Index v = b; v < e; ++v) {
      std::int32_t* const first = gathered.data() + others * starts[v];
      std::int32_t* last = first;
      for (const std::int32_t corner : stars.at(v)) {
        const auto& element = stars.elements()[static_cast<std::size_t>(corner) / N];
        if (repeats_edge(element)) continue;
        for (std::size_t k = 0; k < N; ++k)
          if (k != static_cast<std::size_t>(corner) % N) *last++ = element[k];
      }
      std::sort(first, last);
      last = std::unique(first, last);
      ring_start_[static_cast<std::size_t>(v) + 1] = last - first;
      edge_start_[static_cast<std::size_t>(v) + 1] = last - std::upper_bound(first, last, static_cast<std::int32_t>(v));
    }
  });
  for (Index v = 0; v < n; ++v) {
    ring_start_[v + 1] += ring_start_[v];
    edge_start_[v + 1] += edge_start_[v];
  }
  ring_.resize(ring_start_.back());
  edges_.resize(edge_start_.back());
  parallel_for(0, n, edge_chunk, [&](Index b, Index e) {
    for (Index v = b; v < e; ++v) {
      const auto i = static_cast<std::size_t>(v);
      const std::int32_t* const first = gathered.data() + others * starts[i];
      const auto size = static_cast<std::size_t>(ring_start_[i + 1] - ring_start_[i]);
      std::copy_n(first, size, ring_.data() + ring_start_[i]);
      const auto edges = static_cast<std::size_t>(edge_start_[i + 1] - edge_start_[i]);
      for (std::size_t k = 0; k < edges; ++k)
        edges_[static_cast<std::size_t>(edge_start_[i]) + k] = {static_cast<std::int32_t>(v), first[size - edges + k]};
    }
  });
}

Index EdgeGraph::find(std::int32_t a, std::int32_t b) const {
  const Index low = std::min(a, b);
  const std::int32_t high = std::max(a, b);
  const auto begin = edges_.begin() + edge_start_[low];
  const auto end = edges_.begin() + edge_start_[low + 1];
  const auto at = std::lower_bound(begin, end, high, [](const Edge& e, std::int32_t v) { return e[1] < v; });
  return at != end && (*at)[1] == high ? at - edges_.begin() : -1;
}

template <std::size_t N>
void find_element_edges(std::span<const std::array<std::int32_t, N>> elements, const EdgeGraph& graph,
                        std::span<std::int32_t> out) {
  constexpr std::size_t edges = N * (N - 1) / 2;
  parallel_for(0, static_cast<Index>(elements.size()), edge_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const auto& x = elements[i];
      const bool none = repeats_edge(x);
      for (std::size_t k = 0; k < edges; ++k) {
        // The edge of a segment is the first of a tetrahedron.
        const auto [p, q] = N == 3 ? std::array<std::size_t, 2>{(k + 1) % 3, (k + 2) % 3} : tet_edges[k];
        out[edges * i + k] = none ? -1 : static_cast<std::int32_t>(graph.find(x[p], x[q]));
      }
    }
  });
}

template EdgeGraph::EdgeGraph(const VertexStars<2>&);
template EdgeGraph::EdgeGraph(const VertexStars<3>&);
template EdgeGraph::EdgeGraph(const VertexStars<4>&);
template void find_element_edges<2>(std::span<const Segment>, const EdgeGraph&, std::span<std::int32_t>);
template void find_element_edges<3>(std::span<const Triangle>, const EdgeGraph&, std::span<std::int32_t>);
template void find_element_edges<4>(std::span<const Tet>, const EdgeGraph&, std::span<std::int32_t>);

std::int32_t label_segment_components(std::span<const std::array<std::int32_t, 2>> segments, Index vertices,
                                      std::span<std::int32_t> label) {
  const VertexStars<2> stars(segments, vertices);
  return numerics::label_components(label, [&](auto&& unite) {
    for (Index v = 0; v < vertices; ++v)
      for (const std::int32_t corner : stars.at(v)) unite(stars.at(v)[0] / 2, corner / 2);
  });
}

}  // namespace meniscus::mesh
