#include "meniscus/mesh/topology/triangle_topology.hpp"

#include "meniscus/core/radix_sort.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <algorithm>
#include <numeric>

namespace meniscus::mesh {
namespace {

using Edge = TriangleTopology::Edge;

bool has_repeated_corner(const Triangle& t) { return t[0] == t[1] || t[1] == t[2] || t[2] == t[0]; }

/// The corner of `triangle` at which its edge that joins the vertices of `edge` begins.
std::size_t corner_of_edge(const Triangle& triangle, const Edge& edge) {
  for (std::size_t k = 0; k < 2; ++k) {
    const auto [low, high] = std::minmax(triangle[k], triangle[(k + 1) % 3]);
    if (low == edge[0] && high == edge[1]) return k;
  }
  return 2;
}

/// Follows boundary edges into loops.
class BoundaryTracer {
 public:
  BoundaryTracer(std::span<const Triangle> triangles, const TriangleTopology& topology)
      : triangles_(triangles), topology_(topology), used_(topology.edges().size(), 0) {}

  /// The vertices of the chain of boundary edges through `edge`; empty if the edge is part of an earlier one.
  std::vector<std::int32_t> chain_through(std::int32_t edge) {
    if (used_[index(edge)]) return {};
    const auto t = topology_.triangles_at(edge)[0];
    const Edge ends = topology_.edges()[index(edge)];
    const std::size_t k = corner_of_edge(triangles_[index(t)], ends);
    const std::int32_t first = triangles_[index(t)][k];
    std::vector<std::int32_t> chain{first};
    if (!follow(edge, first == ends[0] ? ends[1] : ends[0], chain)) {
      // The chain is open: what lies before its first edge comes in front.
      std::vector<std::int32_t> before;
      const std::int32_t previous = next_boundary_edge(edge, first);
      if (previous >= 0) {
        const Edge e = topology_.edges()[index(previous)];
        follow(previous, e[0] == first ? e[1] : e[0], before);
      }
      chain.insert(chain.begin(), before.rbegin(), before.rend());
    }
    return chain;
  }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  /// Goes along boundary edges from `edge` towards `vertex`, appending vertices, until the first edge is met again (true) or an
  /// open chain ends (false).
  bool follow(std::int32_t edge, std::int32_t vertex, std::vector<std::int32_t>& chain) {
    for (;;) {
      used_[index(edge)] = 1;
      const std::int32_t next = next_boundary_edge(edge, vertex);
      if (next >= 0 && used_[index(next)]) return true;
      chain.push_back(vertex);
      if (next < 0) return false;
      edge = next;
      const Edge& e = topology_.edges()[index(edge)];
      vertex = e[0] == vertex ? e[1] : e[0];
    }
  }

  /// The other boundary edge of the fan of triangles around `vertex` that begins with boundary edge `edge`; -1 where a
  /// non-manifold edge ends the fan.
  std::int32_t next_boundary_edge(std::int32_t edge, std::int32_t vertex) const {
    std::int32_t t = topology_.triangles_at(edge)[0];
    for (;;) {
      const auto& corners = triangles_[index(t)];
      const auto& around = topology_.edges_of(t);
      for (std::size_t k = 0; k < 3; ++k)
        if (around[k] != edge && (corners[k] == vertex || corners[(k + 1) % 3] == vertex)) {
          edge = around[k];
          break;
        }
      const auto at = topology_.triangles_at(edge);
      if (at.size() == 1) return edge;
      if (at.size() > 2) return -1;
      t = at[0] == t ? at[1] : at[0];
    }
  }

  std::span<const Triangle> triangles_;
  const TriangleTopology& topology_;
  std::vector<char> used_;
};

/// Numbers the components that are connected over edges.
void find_components(Index triangles, const TriangleTopology& topology, WatertightReport& report) {
  numerics::DisjointSets<std::int32_t> sets(triangles);
  for (Index e = 0; e < static_cast<Index>(topology.edges().size()); ++e) {
    const auto at = topology.triangles_at(e);
    for (std::size_t i = 1; i < at.size(); ++i) sets.join(at[0], at[i]);
  }
  report.component.resize(triangles);
  for (Index t = 0; t < triangles; ++t) {
    const std::int32_t root = sets.root(static_cast<std::int32_t>(t));
    if (topology.edges_of(t)[0] < 0)
      report.component[t] = -1;
    else
      report.component[t] = root == t ? report.components++ : report.component[root];
  }
}

}  // namespace

TriangleTopology::TriangleTopology(std::span<const Triangle> triangles) {
  edges_of_.assign(triangles.size(), {-1, -1, -1});
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> sides;  // 3 * triangle + k
  keys.reserve(3 * triangles.size());
  sides.reserve(3 * triangles.size());
  std::uint64_t vertices = 0;
  for (const Triangle& t : triangles)
    vertices = std::max(vertices, static_cast<std::uint64_t>(*std::max_element(t.begin(), t.end())) + 1);
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    if (has_repeated_corner(triangles[t])) continue;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto [low, high] = std::minmax(triangles[t][k], triangles[t][(k + 1) % 3]);
      keys.push_back(static_cast<std::uint64_t>(low) * vertices + static_cast<std::uint64_t>(high));
      sides.push_back(3 * t + k);
    }
  }
  std::vector<Index> order(keys.size());
  Workspace workspace;
  radix_sort(keys.data(), order.data(), static_cast<Index>(keys.size()), vertices * vertices, workspace);
  triangles_.resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) {
      edges_.push_back({static_cast<std::int32_t>(keys[i] / vertices), static_cast<std::int32_t>(keys[i] % vertices)});
      start_.push_back(static_cast<Index>(i));
    }
    const std::uint64_t side = sides[order[i]];
    triangles_[i] = static_cast<std::int32_t>(side / 3);
    edges_of_[side / 3][side % 3] = static_cast<std::int32_t>(edges_.size()) - 1;
  }
  start_.push_back(static_cast<Index>(keys.size()));
}

std::vector<TriangleTopology::Edge> TriangleTopology::crowded_edges() const {
  std::vector<Edge> found;
  for (std::size_t e = 0; e < edges_.size(); ++e)
    if (start_[e + 1] - start_[e] > 2) found.push_back(edges_[e]);
  return found;
}

std::vector<std::int32_t> degenerate_triangles(const TriangleMeshView& mesh) {
  std::vector<std::int32_t> found;
  for (Index t = 0; t < mesh.size(); ++t)
    if (has_repeated_corner(mesh.triangle(t)) || has_no_area(mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2)))
      found.push_back(static_cast<std::int32_t>(t));
  return found;
}

WatertightReport check_watertight(const TriangleMeshView& mesh, const TriangleTopology& topology) {
  WatertightReport report;
  report.degenerate = degenerate_triangles(mesh);
  find_components(mesh.size(), topology, report);
  const auto edges = topology.edges();
  BoundaryTracer tracer(mesh.triangles, topology);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto at = topology.triangles_at(static_cast<Index>(e));
    if (at.size() > 2) {
      report.nonmanifold_edges.push_back(edges[e]);
    } else if (at.size() == 2) {
      const auto begins = [&](std::int32_t t) { return mesh.triangle(t)[corner_of_edge(mesh.triangle(t), edges[e])]; };
      if (begins(at[0]) == begins(at[1])) report.flipped_edges.push_back(edges[e]);
    } else {
      ++report.boundary_edges;
      auto loop = tracer.chain_through(static_cast<std::int32_t>(e));
      if (!loop.empty()) report.holes.push_back(std::move(loop));
    }
  }
  return report;
}

}  // namespace meniscus::mesh
