/// Neighbours of tetrahedra across faces, for walks; of any tetrahedra, also of some with a repeated corner.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

#include <vector>

namespace meniscus::collision {

/// The tetrahedron across each face, which is opposite of the corner of the same number; -1 where there is none, or more than
/// one.
std::vector<mesh::Tet> find_neighbours(std::span<const mesh::Tet> tets);

}  // namespace meniscus::collision
