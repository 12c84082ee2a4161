/// Motion of a surface along its normals by offset faces.
///
/// Each triangle moves along its normal; a vertex goes to where the planes of its triangles meet then, by least squares in the
/// space in which they differ. Where the surface opens, such as beyond a ridge that moves outward, it becomes round: the vertex
/// goes only as far as the faces do.
///
/// Sources: Brochu 2012, section 3.3.1; Jiao, "Face offsetting: a unified approach for explicit moving interfaces", 2007,
/// sections 3 and
/// 4. (The published program of the former adds the distance of the opening case to the displacement; here it takes its place.)
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::surface {

/// How vertices follow the triangles.
enum class NormalMotion : std::int8_t {
  /// As above.
  faces,
  /// Along the mean normal of the vertex, which does not converge where the surface has edges.
  vertices,
};

/// Displacements of the vertices (m) for triangles that move by `offsets` (m, one each). `ridge` as in `TrackingOptions`.
void offset_faces(const mesh::TriangleMeshView& surface, std::span<const double> offsets, NormalMotion method, double ridge,
                  std::span<mesh::Point> out);

/// The largest part of the displacements, at most 1, up to which no triangle turns over against where it started, times 0.99
/// where it is below 1. Triangles without area do not count.
double largest_step(const mesh::TriangleMeshView& surface, std::span<const mesh::Point> displacements);

}  // namespace meniscus::surface
