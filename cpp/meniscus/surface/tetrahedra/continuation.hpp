/// Continuation of a unit normal and a velocity from some tetrahedra to all that are connected with them.
///
/// Layer by layer over common nodes: a node takes the mean of the tetrahedra at it that have values, then a tetrahedron the mean of its
/// nodes that have. Normals are renormalised. The layers are those of the topological distance.
///
/// Source: Lee 2018, section 3.3.1 ("extrapolated to every tetrahedron of the KDSM exterior to the creature"); rank-ordered averaging.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/mesh/topology/vertex_stars.hpp"

namespace meniscus::surface {

/// Numbers of `known` below.
enum class Known : std::int8_t { no = 0, yes = 1, apart = 2 };

/// known[t] for a solid whose distance phi at nodes (m) is exact where |phi| < band: apart inside of it; yes in cut tetrahedra and, with
/// `closest`, where a node is in the band.
void find_known(std::span<const mesh::Tet> tets, std::span<const double> phi, double band, std::span<const bool> cut,
                std::span<const bool> inside, bool closest, std::span<std::int8_t> known);

/// Sets normal and velocity (m/s) of the unknown tetrahedra that are connected with known ones by others that are not
/// apart: these take no part. Those without connection keep their values.
void continue_outward(const mesh::VertexStars<4>& stars, std::span<const std::int8_t> known, std::span<mesh::Point> normal,
                      std::span<mesh::Point> velocity);

}  // namespace meniscus::surface
