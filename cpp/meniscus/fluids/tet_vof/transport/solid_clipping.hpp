/// Paths of vertices that end where they meet a solid.
///
/// Source: Lee 2018, section 3.3.2.
#pragma once

#include "meniscus/fluids/tet_vof/transport/near_location.hpp"

namespace meniscus::fluids {

/// Moves the ends y of the paths of a tetrahedron's corners back to where they enter the solid, if they begin outside of it.
/// `distance_begin` holds signed distances at the vertices at the time of x, m; `distance_end` those at the time of y, on the
/// mesh of `end`. Between, the distance is taken along the path at steps of at most an edge.
void stop_at_solid(const mesh::Tet& tet, const std::array<mesh::Point, 4>& x, std::span<const double> distance_begin,
                   std::span<const double> distance_end, NearLocation& end, std::array<mesh::Point, 4>& y);

}  // namespace meniscus::fluids
