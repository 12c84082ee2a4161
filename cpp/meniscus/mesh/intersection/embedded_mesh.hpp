/// Whether a tetrahedral mesh is embedded: two tetrahedra have no point in common but those of the corner, edge or face that they
/// share. Exact for every finite double.
///
/// A mesh is embedded if and only if
///
/// 1. all tetrahedra have a positive volume, and the two at an inner face lie on different sides of it,
/// 2. no two boundary triangles meet beyond the corners and edges that they share, and
/// 3. for one boundary triangle of each sheet, no tetrahedron but its own holds the points right behind it. A sheet consists of
///    boundary triangles that are connected over edges which two of them have.
///
/// Why these are enough. By 1, the boundary is a closed surface, and a point beside all faces lies in as many tetrahedra as the
/// boundary winds around it: each covers it once and positively, so the number is the degree of the map, which the boundary
/// determines. This number is constant where the boundary is not crossed, and falls by one from the inner to the outer side of
/// each boundary triangle. By 2, nothing but the two triangles is near the middle of an edge that two of them have, so that it is
/// the same on the inner sides of a whole sheet; by 3 it is one there, and hence zero outside. Every region of space borders on a
/// sheet, so no point beside the faces lies in two tetrahedra. Lastly, let a point be that of two places of the mesh. If one of
/// them is not on the boundary, the tetrahedra around it cover all that is near, and near the other place there is a tetrahedron
/// as well, so that points beside the faces lie in two. If both are on the boundary they are the same by 2.
///
/// Condition 2 alone does not see a mesh inside of another one. Conditions 1 and 3 without 2 do not see a strip that winds around
/// an edge with an angle above 360 degrees. Meshes may touch themselves in corners and edges that are shared, but not in those
/// that only lie in the same place.
///
/// Sources: Lipman, "Bijective mappings of meshes with boundary and the degree in mesh processing", 2014, sections 3 and 4
/// (degree of simplicial maps); the exact predicates are those of `numerics/predicates.hpp`.
#pragma once

#include "meniscus/mesh/topology/tet_topology.hpp"

namespace meniscus::mesh {

/// `topology` is that of the mesh. Positions must be finite. In parallel; ends early where something is found.
bool is_embedded(const TetMeshView& mesh, const TetTopology& topology);

}  // namespace meniscus::mesh
