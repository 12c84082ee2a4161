/// Points swept over by a moving surface. Values stored at such a point may come from the other side.
///
/// Source: Guendelman et al., "Coupling water and smoke to thin deformable and rigid shells", 2005, section 3; Selle 2008,
/// section 4.3 (points that meet a triangle on its way, or lie in a wedge at the start or the end).
#pragma once

#include "meniscus/collision/ray_casting/thick_surface.hpp"

namespace meniscus::collision {

/// Sets out[i] to true if point i meets a triangle while vertices and points move straight from start to end
/// (exact), or if it lies in a wedge at the start or the end. Both surfaces must have the same triangles.
/// `end_points` is empty where points stay in place.
///
/// A point that changes sides and neither starts nor ends in a wedge meets a triangle on the way: the motion is continuous and
/// the test has no tolerance, so it is found whatever the step and however the surface turns.
void swept_points(const ThickSurface& start, const ThickSurface& end, std::span<const mesh::Point> points,
                  std::span<const mesh::Point> end_points, std::span<bool> out);

}  // namespace meniscus::collision
