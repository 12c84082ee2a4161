/// Faces at the boundary of a mesh as walls without friction, which move with the mesh.
#pragma once

#include "meniscus/fluids/tet_vof/tet_graph.hpp"
#include "meniscus/fluids/tet_vof/tet_water.hpp"

namespace meniscus::fluids {

/// By how much the velocity of water changes at a boundary face so that it does not go through: along the normal, or not at all.
/// `dt` s is the time between the positions.
mesh::Point held_by_wall(const mesh::Point& velocity, const mesh::Tet& tet, std::size_t face, std::span<const mesh::Point> before,
                         std::span<const mesh::Point> after, double dt);

/// Holds the water of all tetrahedra at the boundary. Returns the change of its momentum over density, m^4/s.
mesh::Point hold_at_walls(const TetWater& water, const TetGraph& graph, std::span<const mesh::Point> before,
                          std::span<const mesh::Point> after, double dt);

}  // namespace meniscus::fluids
