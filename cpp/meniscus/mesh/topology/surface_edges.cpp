#include "meniscus/mesh/topology/surface_edges.hpp"

#include "meniscus/mesh/topology/edge_graph.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <algorithm>

namespace meniscus::mesh {
namespace {

/// The corner of `triangle` that is not an end of its edge `edge`.
std::size_t opposite_corner(const Triangle& triangle, const TriangleTopology::Edge& edge) {
  std::size_t k = 0;
  while (triangle[k] == edge[0] || triangle[k] == edge[1]) ++k;
  return k;
}

std::size_t corner_at(const Triangle& triangle, std::int32_t vertex) {
  return static_cast<std::size_t>(std::find(triangle.begin(), triangle.end(), vertex) - triangle.begin());
}

const Triangle& get(std::span<const Triangle> triangles, std::int32_t t) { return triangles[t]; }

}  // namespace

void find_triangle_neighbours(std::span<const Triangle> triangles, const TriangleTopology& topology, std::span<Triangle> out) {
  std::fill(out.begin(), out.end(), Triangle{-1, -1, -1});
  for (Index e = 0; e < static_cast<Index>(topology.edges().size()); ++e) {
    const auto at = topology.triangles_at(e);
    if (at.size() != 2) continue;
    const auto& edge = topology.edges()[e];
    for (std::size_t s = 0; s < 2; ++s) out[at[s]][opposite_corner(get(triangles, at[s]), edge)] = at[1 - s];
  }
}

std::vector<std::array<std::int32_t, 2>> boundary_segments(std::span<const Triangle> triangles,
                                                           const TriangleTopology& topology) {
  std::vector<std::array<std::int32_t, 2>> found;
  for (Index e = 0; e < static_cast<Index>(topology.edges().size()); ++e) {
    const auto at = topology.triangles_at(e);
    if (at.size() != 1) continue;
    const Triangle& t = get(triangles, at[0]);
    const std::size_t k = opposite_corner(t, topology.edges()[e]);
    found.push_back({t[(k + 1) % 3], t[(k + 2) % 3]});
  }
  return found;
}

std::vector<std::array<std::int32_t, 4>> hinges(std::span<const Triangle> triangles, const TriangleTopology& topology) {
  std::vector<std::array<std::int32_t, 4>> found;
  for (Index e = 0; e < static_cast<Index>(topology.edges().size()); ++e) {
    const auto at = topology.triangles_at(e);
    if (at.size() != 2) continue;
    const auto& edge = topology.edges()[e];
    const Triangle& first = get(triangles, at[0]);
    const Triangle& second = get(triangles, at[1]);
    const std::size_t k = opposite_corner(first, edge);
    const std::size_t l = opposite_corner(second, edge);
    const bool upwards = first[(k + 1) % 3] == edge[0];
    const bool both = upwards == (second[(l + 1) % 3] == edge[0]);
    if (upwards || both)
      found.push_back({edge[0], edge[1], first[k], second[l]});
    else
      found.push_back({edge[0], edge[1], second[l], first[k]});
  }
  return found;
}

std::vector<std::int32_t> pinched_vertices(std::span<const Triangle> triangles, const TriangleTopology& topology,
                                           Index vertices) {
  // Corners of triangles at one vertex belong together where the triangles share an edge that ends there.
  std::vector<std::int32_t> fan(3 * triangles.size());
  const auto corner = [&](std::int32_t t, std::int32_t v) {
    return 3 * t + static_cast<std::int32_t>(corner_at(get(triangles, t), v));
  };
  numerics::label_components(fan, [&](auto&& unite) {
    for (Index e = 0; e < static_cast<Index>(topology.edges().size()); ++e) {
      const auto at = topology.triangles_at(e);
      if (at.size() != 2) continue;
      for (const std::int32_t v : topology.edges()[e]) unite(corner(at[0], v), corner(at[1], v));
    }
  });
  std::vector<std::int32_t> first(vertices, -1);
  std::vector<char> pinched(vertices, 0);
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    if (topology.edges_of(static_cast<Index>(t))[0] < 0) continue;
    for (std::size_t k = 0; k < 3; ++k) {
      const Index v = triangles[t][k];
      if (first[v] < 0)
        first[v] = fan[3 * t + k];
      else if (first[v] != fan[3 * t + k])
        pinched[v] = 1;
    }
  }
  std::vector<std::int32_t> found;
  for (std::size_t v = 0; v < pinched.size(); ++v)
    if (pinched[v]) found.push_back(static_cast<std::int32_t>(v));
  return found;
}

std::int32_t triangle_components(const TriangleTopology& topology, std::span<std::int32_t> component) {
  return numerics::label_components(component, [&](auto&& unite) {
    for (Index e = 0; e < static_cast<Index>(topology.edges().size()); ++e) {
      const auto at = topology.triangles_at(e);
      for (std::size_t i = 1; i < at.size(); ++i) unite(at[0], at[i]);
    }
  });
}

}  // namespace meniscus::mesh
