/// Topology of a triangle mesh: edges, neighbours, holes, components; and whether the mesh is watertight.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <vector>

namespace meniscus::mesh {

/// The edges of a mesh and the triangles at each. Triangles with a repeated corner are ignored.
class TriangleTopology {
 public:
  /// An undirected edge: the lower vertex first.
  using Edge = std::array<std::int32_t, 2>;

  explicit TriangleTopology(std::span<const Triangle> triangles);

  /// In ascending order.
  std::span<const Edge> edges() const { return edges_; }
  /// The triangles at an edge, in ascending order.
  std::span<const std::int32_t> triangles_at(Index edge) const {
    const Index e = edge;
    return {triangles_.data() + start_[e], static_cast<std::size_t>(start_[e + 1] - start_[e])};
  }
  /// The edges with more than two triangles.
  std::vector<Edge> crowded_edges() const;
  /// Edge k of a triangle joins its corners k and k + 1; -1 for a triangle with a repeated corner.
  const std::array<std::int32_t, 3>& edges_of(Index triangle) const { return edges_of_[triangle]; }

 private:
  std::vector<Edge> edges_;
  std::vector<Index> start_;
  std::vector<std::int32_t> triangles_;
  std::vector<std::array<std::int32_t, 3>> edges_of_;
};

/// Defects that keep a mesh from being the boundary of a solid.
struct WatertightReport {
  using Edge = TriangleTopology::Edge;

  /// Edges with one triangle.
  Index boundary_edges = 0;
  /// The boundary edges as loops of vertices, in the direction of the triangle at the first edge of each. A loop passes from edge
  /// to edge through the triangles at a vertex, so that two fans of triangles that only touch are separate. Where non-manifold
  /// edges cut a loop, it is an open chain.
  std::vector<std::vector<std::int32_t>> holes;
  /// Edges with more than two triangles.
  std::vector<Edge> nonmanifold_edges;
  /// Edges that both of their triangles traverse in the same direction.
  std::vector<Edge> flipped_edges;
  /// Triangles with a repeated corner or without area.
  std::vector<std::int32_t> degenerate;
  /// For each triangle, the number of its component (connected over edges), in order of their first triangles; -1 for a triangle
  /// with a repeated corner.
  std::vector<std::int32_t> component;
  std::int32_t components = 0;

  /// No boundary, no non-manifold and no flipped edge.
  bool watertight() const { return boundary_edges == 0 && nonmanifold_edges.empty() && flipped_edges.empty(); }
};

WatertightReport check_watertight(const TriangleMeshView& mesh, const TriangleTopology& topology);

/// The triangles with a repeated corner or without area.
std::vector<std::int32_t> degenerate_triangles(const TriangleMeshView& mesh);

}  // namespace meniscus::mesh
