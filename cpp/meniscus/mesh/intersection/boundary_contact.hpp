/// Contact of the triangles of one surface beyond the corners and edges that they share. Exact for every finite double.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::mesh {

/// Whether two different triangles, as closed sets, have a point in common that does not lie on a common corner or edge. Corners
/// are common if they have the same number; the triangles must have an area if they share an edge.
bool meet_beyond_shared(std::span<const Point> vertices, const Triangle& s, const Triangle& t);

/// Whether any two triangles of a surface do, in parallel.
bool any_meet_beyond_shared(const TriangleMeshView& surface);
/// How many pairs of them do.
Index meetings_beyond_shared(const TriangleMeshView& surface);

}  // namespace meniscus::mesh
