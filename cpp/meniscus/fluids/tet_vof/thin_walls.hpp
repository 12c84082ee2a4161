/// Ways through parts of a solid that are thinner than tetrahedra, which would have one volume of water for both of their sides.
#pragma once

#include "meniscus/fluids/tet_vof/tet_graph.hpp"
#include "meniscus/surface/tetrahedra/signed_distance.hpp"

namespace meniscus::fluids {

/// A solid on the tetrahedra of a graph.
struct SolidInTets {
  const TetGraph& graph;
  std::span<const mesh::Point> positions;
  std::span<const double> phi;   ///< distance at the vertices, m
  std::span<const bool> cut;     ///< tetrahedra that the surface touches
  std::span<const bool> inside;  ///< tetrahedra in the solid entirely
};

/// Straight ways between vertices outside of a solid that meet it, one value each.
struct WaysThroughSolid {
  std::vector<std::int32_t> tets;        ///< where they are
  std::vector<mesh::Point> first, last;  ///< where they come into the solid, and where out of it, m
  std::vector<double> lengths;           ///< from vertex to vertex, m
};

/// Finds the ways by which water in a cut tetrahedron, or across a face of one, would get past a solid: along an edge, and
/// between the vertices opposite to a face whose own are all in the solid. No step along a way is longer than the distance from
/// the solid.
WaysThroughSolid ways_through_solid(const SolidInTets& solid, const surface::SignedDistance& distance);

}  // namespace meniscus::fluids
