/// Smoothing of a surface along itself: vertices move to the middle of their triangles, but only where that does not change the
/// shape, which is anywhere on a smooth surface, along ridges, and not at corners.
///
/// Source: Brochu 2012, section 3.2.4; Jiao, "Face offsetting", 2007. That vertices of smooth parts also keep the volume, by
/// moving at right angles to the sum of the area vectors around them, is ours.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::surface {

/// Writes where the vertices would go. Fixed vertices and those of the boundary stay. `ridge` as in `TrackingOptions`.
void smooth_positions(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed, double ridge,
                      std::span<mesh::Point> out);

}  // namespace meniscus::surface
