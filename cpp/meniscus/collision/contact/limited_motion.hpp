/// Motions that end before anything touches.
///
/// Source: Bridson, Fedkiw and Anderson, "Robust treatment of collisions, contact and friction for cloth animation", 2002,
/// section 8 (vertices of a refined surface that stay back); Brochu 2012, section 3.2.4 (smoothing as a pseudo-motion).
#pragma once

#include "meniscus/collision/collision_mesh.hpp"

namespace meniscus::collision {

/// A mesh that stays where it is.
struct StillMesh {
  CollisionMesh* mesh;
  std::span<const mesh::Point> positions;
};

/// Vertices go at most this part of their ways after so many halvings; then they stay.
constexpr int most_halvings = 6;

/// Shortens the ways of vertices from `start` to `end` until nothing touches on any of them: those of elements that do go half as
/// far, again and again. `end` becomes what all reach together; `part` gets the parts of the ways, 0 to 1. Ways with nothing in
/// them keep their ends to the bit. Pairs of vertices that stay are not tested. Throws InvalidArgument where elements touch at
/// the start.
void limit_motion(CollisionMesh& mesh, std::span<const mesh::Point> start, std::span<const StillMesh> still,
                  std::span<mesh::Point> end, std::span<double> part);

}  // namespace meniscus::collision
