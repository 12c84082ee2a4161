/// Selection of tetrahedra of a mesh so that their boundary is a manifold: no edge with more than two boundary faces, and no
/// vertex in which parts of the boundary only touch.
///
/// Source: Molino, Bridson, Teran and Fedkiw, "A crystalline, red green strategy for meshing highly deformable objects with
/// tetrahedra", 2003, section 4.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

#include <vector>

namespace meniscus::mesh {

/// Repair of an edge or vertex that is not manifold.
enum class Repair {
  grow,    ///< take all tetrahedra around it, so that what was covered stays so
  shrink,  ///< leave only the largest part of those around it that hang together over faces
};

/// Changes `kept`, one value per tetrahedron of a conforming mesh, until the boundary of the chosen tetrahedra is a manifold.
/// Where `grow` finds none to add, it falls back on `shrink`. Returns the number changed.
Index make_boundary_manifold(const TetMeshView& mesh, Repair repair, std::vector<bool>& kept);

}  // namespace meniscus::mesh
