/// Topology of a tetrahedral mesh for a pressure system with one unknown per vertex.
#pragma once

#include "meniscus/mesh/topology/tet_topology.hpp"

namespace meniscus::fluids {

/// The edges are the couplings of the matrix; each is summed over the tetrahedra around it, each vertex over those at it.
class TetPressureTopology {
 public:
  /// Throws InvalidArgument for corners that are no vertices, tetrahedra with a corner twice, and more than two at a face.
  TetPressureTopology(std::span<const mesh::Tet> tets, Index vertices);
  TetPressureTopology(const TetPressureTopology&) = delete;
  TetPressureTopology& operator=(const TetPressureTopology&) = delete;

  Index vertices() const { return stars_.vertices(); }
  std::span<const mesh::Tet> tets() const { return tets_; }
  const mesh::Tet& tet(Index t) const { return tets_[t]; }
  Index edges() const { return static_cast<Index>(edge_start_.size()) - 1; }

  /// The corners 4 tet + k at a vertex, ascending.
  std::span<const std::int32_t> corners_at(Index vertex) const { return stars_.at(vertex); }
  /// Numbers 6 tet + k of an edge in its tetrahedra, ascending; k as in mesh::tet_edges.
  std::span<const std::int32_t> places_of(Index edge) const { return row(edge_places_, edge_start_, edge); }
  /// The vertices beyond the edges at a vertex, ascending, and these edges.
  std::span<const std::int32_t> neighbours(Index vertex) const { return row(ring_, ring_start_, vertex); }
  std::span<const std::int32_t> edges_at(Index vertex) const { return row(ring_edge_, ring_start_, vertex); }

  /// A face with one tetrahedron.
  struct BoundaryFace {
    mesh::Triangle corners;
    std::int32_t tet;
  };
  std::span<const BoundaryFace> boundary() const { return boundary_; }

  Index bytes() const;

 private:
  static std::span<const std::int32_t> row(const std::vector<std::int32_t>& values, const std::vector<std::int64_t>& start,
                                           Index i) {
    const Index at = i;
    return {values.data() + start[at], static_cast<std::size_t>(start[at + 1] - start[at])};
  }

  std::vector<mesh::Tet> tets_;
  mesh::VertexStars<4> stars_;
  std::vector<std::int64_t> ring_start_, edge_start_;
  std::vector<std::int32_t> ring_, ring_edge_, edge_places_;
  std::vector<BoundaryFace> boundary_;
};

}  // namespace meniscus::fluids
