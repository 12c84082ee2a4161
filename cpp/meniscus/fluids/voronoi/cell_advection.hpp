/// Advection of face velocities from one Voronoi mesh to the next.
#pragma once

#include "meniscus/fluids/voronoi/cell_velocity.hpp"

namespace meniscus::fluids {

/// Sets the velocities of all faces of `mesh` at its liquid cells: those of the old field where the liquid at the face came from,
/// by the midpoint rule. A face that the old mesh has, too, keeps its own velocity, to which the difference along the way is
/// added, unless `printed` says otherwise. Each side has the velocity of its own part of the liquid.
///
/// Source: Brochu 2012, section 7.6 (semi-Lagrangian). Increments at faces that stay are ours.
void advect_faces(const CellVelocity& old, std::span<const FaceVelocity> old_velocity, const mesh::VoronoiMesh& mesh,
                  const LiquidCells& cells, double dt, bool printed, std::span<FaceVelocity> out);

}  // namespace meniscus::fluids
