/// Topology of a tetrahedral mesh in motion: corners, neighbours across faces, tetrahedra at vertices.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/mesh/topology/vertex_stars.hpp"

#include <memory>
#include <vector>

namespace meniscus::fluids {

class TetGraph {
 public:
  /// Valid tetrahedra, which must stay where they are.
  TetGraph(std::span<const mesh::Tet> tets, Index vertices)
      : TetGraph(std::make_shared<const mesh::VertexStars<4>>(tets, vertices)) {}
  /// The tetrahedra of stars that others use, too.
  explicit TetGraph(std::shared_ptr<const mesh::VertexStars<4>> stars);

  Index size() const { return static_cast<Index>(tets_.size()); }
  Index vertices() const { return stars_->vertices(); }
  std::span<const mesh::Tet> tets() const { return tets_; }
  const mesh::Tet& tet(std::int32_t t) const { return tets_[t]; }
  /// The tetrahedron across each face; -1 where there is none, or more than one.
  const mesh::Tet& neighbours(std::int32_t t) const { return neighbours_[t]; }
  std::span<const mesh::Tet> neighbours() const { return neighbours_; }
  bool at_boundary(std::int32_t t) const {
    const mesh::Tet& n = neighbours(t);
    return n[0] < 0 || n[1] < 0 || n[2] < 0 || n[3] < 0;
  }

  /// The number that face `face` of a tetrahedron has in the neighbour beyond it.
  std::size_t back_face(std::int32_t t, std::size_t face) const {
    return static_cast<std::size_t>(back_faces_[t] >> (2 * face) & 3);
  }

  /// Calls f(tetrahedron) for those at a vertex, in ascending order.
  template <class F>
  void for_star(std::int32_t vertex, F&& f) const {
    for (const std::int32_t corner : stars_->at(vertex)) f(corner >> 2);
  }

  /// Without the stars.
  std::size_t nbytes() const { return neighbours_.size() * (sizeof(mesh::Tet) + 1); }

 private:
  std::shared_ptr<const mesh::VertexStars<4>> stars_;
  std::span<const mesh::Tet> tets_;
  std::vector<mesh::Tet> neighbours_;
  /// Two bits for each face.
  std::vector<std::uint8_t> back_faces_;
};

}  // namespace meniscus::fluids
