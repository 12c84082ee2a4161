/// Triangles that close the holes of a surface.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <vector>

namespace meniscus::mesh {

/// The triangulation of a loop of vertices with the least area, which passes its edges in the direction of the loop; of a loop of
/// more than a few hundred vertices, the one that cuts off the corner with the shortest diagonal again and again. Loops of fewer
/// than three vertices have none.
///
/// Source: Barequet and Sharir, "Filling gaps in the boundary of a polyhedron", 1995.
std::vector<Triangle> triangulated_loop(std::span<const Point> vertices, std::span<const std::int32_t> loop);

}  // namespace meniscus::mesh
