/// Edges of a triangle mesh: neighbours, boundary, hinges (pairs of triangles with a common edge), pinched vertices.
#pragma once

#include "meniscus/mesh/topology/triangle_topology.hpp"

namespace meniscus::mesh {

/// The triangle beyond the edge opposite of each corner; -1 on the boundary, where more than two triangles have the edge, and
/// for triangles with a repeated corner.
void find_triangle_neighbours(std::span<const Triangle> triangles, const TriangleTopology& topology, std::span<Triangle> out);

/// The edges with one triangle, in ascending order, each in the direction in which its triangle traverses it.
std::vector<std::array<std::int32_t, 2>> boundary_segments(std::span<const Triangle> triangles, const TriangleTopology& topology);

/// The edges with two triangles, in ascending order, as (i, j, k, l): edge i < j, and the corners of the two triangles that are
/// not on it. The triangle of k traverses it from i to j, that of l from j to i; if their orientations differ and both traverse
/// it alike, k belongs to the first. Edges with more triangles are ignored.
std::vector<std::array<std::int32_t, 4>> hinges(std::span<const Triangle> triangles, const TriangleTopology& topology);

/// The vertices, ascending, whose triangles are not a single fan: connected over edges that at most two triangles have, they fall
/// into several parts.
std::vector<std::int32_t> pinched_vertices(std::span<const Triangle> triangles, const TriangleTopology& topology, Index vertices);

/// Numbers the components of triangles connected over edges, in order of their first triangles. Returns the number of components.
/// A triangle with a repeated corner is alone.
std::int32_t triangle_components(const TriangleTopology& topology, std::span<std::int32_t> component);

}  // namespace meniscus::mesh
