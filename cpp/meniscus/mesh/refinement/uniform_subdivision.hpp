/// Uniform ("red") refinement of meshes whose vertices move: the topology is fixed once, and positions of the fine mesh are
/// always the same linear combinations of those of the coarse one.
///
/// Source: Lee 2018, section 3.3.1; Molino et al., "A crystalline, red green strategy for meshing highly deformable objects with
/// tetrahedra", 2003 (the shortest diagonal).
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/mesh/topology/edge_graph.hpp"

namespace meniscus::mesh {

/// Every level puts a vertex in the middle of each edge and cuts a tetrahedron in 8, a triangle in 4, a segment in 2 (N = 4, 3,
/// 2). The vertices of a level come first on the next one, followed by the middles of its edges in the order of these; child c of
/// element e is element 2^(N - 1) e + c. The inner octahedron of a tetrahedron is cut along its shortest diagonal at rest, which
/// keeps the shapes of a BCC lattice; of equal ones, the first of those from edge 01 to 23, 02 to 13, 03 to 12. Children have the
/// orientation of their parent, however the mesh is deformed.
template <std::size_t N>
class UniformSubdivision {
 public:
  using Element = std::array<std::int32_t, N>;
  using Edge = EdgeGraph::Edge;
  static constexpr std::size_t children = std::size_t{1} << (N - 1);

  /// Throws InvalidArgument for an element with a repeated corner, and where a level would have too many elements.
  UniformSubdivision(std::span<const Point> rest, std::span<const Element> elements, Index levels);

  /// Level 0 is the coarse mesh.
  Index levels() const { return static_cast<Index>(elements_.size()) - 1; }
  Index vertices(Index level) const { return vertices_[level]; }
  std::span<const Element> elements(Index level) const { return elements_[level]; }
  /// The ends of the edge in whose middle each vertex lies that is new on a level > 0.
  std::span<const Edge> parents(Index level) const { return parents_[static_cast<std::size_t>(level) - 1]; }

  /// The diagonal of `octahedron_cuts` along which each tetrahedron of a level < levels() is cut; empty for N < 4.
  std::span<const std::uint8_t> diagonals(Index level) const { return diagonals_[level]; }

  /// Positions or velocities of all vertices of a level from those of the coarse mesh. `out` may begin with the same memory.
  /// Parallel; allocates nothing.
  void interpolate(std::span<const Point> coarse, Index level, std::span<Point> out) const;

  /// The displacements of all vertices of a level between two sets of coarse positions, times 1 / dt. With dt = 1 they are the
  /// differences of what `interpolate` returns for both, bit by bit, so that path and velocity agree to their last roundings.
  /// Parallel.
  void displace(std::span<const Point> start, std::span<const Point> end, Index level, double dt, std::span<Point> out,
                Workspace& workspace) const;

  /// The same as fixed combinations: vertex i of the level is the sum of weights[i][k] times coarse vertex nodes[i][k], which are
  /// corners of one coarse element. Unused places have weight 0 and repeat the first node. Weights are exact.
  void combinations(Index level, std::span<Element> nodes, std::span<std::array<double, N>> weights) const;

  std::size_t nbytes() const;

 private:
  std::vector<Index> vertices_;
  std::vector<std::vector<Element>> elements_;
  std::vector<std::vector<Edge>> parents_;
  std::vector<std::vector<std::uint8_t>> diagonals_;
};

}  // namespace meniscus::mesh
