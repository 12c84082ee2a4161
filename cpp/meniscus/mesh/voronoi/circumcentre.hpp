/// Circumcentres of tetrahedra.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

namespace meniscus::mesh {

/// The centre of the sphere through the corners, with about twelve digits however flat the tetrahedron is; it must have a volume.
Point circumcentre(const Point& a, const Point& b, const Point& c, const Point& d);

}  // namespace meniscus::mesh
