/// Topology of a tetrahedral mesh: faces, neighbours, boundary, components.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/mesh/topology/edge_graph.hpp"

namespace meniscus::mesh {

/// The faces of a mesh of valid tetrahedra and the one or two tetrahedra at each.
class TetTopology {
 public:
  /// The two tetrahedra at a face, the lower one first; -1 where there is none.
  using FaceTets = std::array<std::int32_t, 2>;

  /// Throws InvalidArgument that names the first face which more than two tetrahedra have.
  explicit TetTopology(const VertexStars<4>& stars);

  /// In ascending order of their sorted corners; corners as in `tet_faces` of the first tetrahedron, so counter-clockwise as seen
  /// from outside of it.
  std::span<const Triangle> faces() const { return faces_; }
  std::span<const FaceTets> face_tets() const { return face_tets_; }
  /// The faces of a tetrahedron: face k is opposite of corner k.
  std::span<const Tet> faces_of() const { return faces_of_; }
  /// The tetrahedron beyond each face; -1 outside.
  std::span<const Tet> neighbours() const { return neighbours_; }
  /// The faces with one tetrahedron, ascending.
  std::span<const std::int32_t> boundary() const { return boundary_; }
  /// The faces whose two tetrahedra lie on the same side by the order of their corners: one of them is inverted, or both overlap.
  std::vector<std::int32_t> flipped_faces(std::span<const Tet> tets) const;

 private:
  std::vector<Triangle> faces_;
  std::vector<FaceTets> face_tets_;
  std::vector<Tet> faces_of_;
  std::vector<Tet> neighbours_;
  std::vector<std::int32_t> boundary_;
};

/// Numbers the components of tetrahedra connected over faces, in order of their first
/// tetrahedra. Returns the number of components.
std::int32_t tet_components(const TetTopology& topology, std::span<std::int32_t> component);

}  // namespace meniscus::mesh
