/// Hits of rays on a thickened surface as columns.
#pragma once

#include "meniscus/collision/ray_casting/surface_cells.hpp"

namespace meniscus::collision {

/// Memory for n hits: one value each, or a row of three.
struct HitColumns {
  std::int8_t* visibility;
  std::int32_t *triangle, *body;
  double *fraction, *barycentric, *position, *velocity;
};

/// Stores hits, with the velocity of the surface there: from `velocities` of its vertices (m/s), or zero where that is empty.
void store_hits(const ThickSurface& surface, std::span<const WedgeHit> hits, std::span<const mesh::Point> velocities,
                const HitColumns& out);

/// The same for faces that are blocked, with their axes (n) and indices (n rows of three).
void store_blocked_faces(const ThickSurface& surface, std::span<const BlockedFace> faces, std::span<const mesh::Point> velocities,
                         std::int32_t* axis, Index* index, const HitColumns& out);

}  // namespace meniscus::collision
