/// Continuation of a unit normal and a velocity from some tetrahedra to all that are connected with them, layer by layer over
/// common nodes; the layers are those of the topological distance.
///
/// Source: Lee 2018, section 3.3.1 ("extrapolated to every tetrahedron of the KDSM exterior to the creature"). The averages are
/// rank-ordered ones; the search for closest points is ours.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/mesh/topology/vertex_stars.hpp"

namespace meniscus::surface {

/// Numbers of `known` below.
enum class Known : std::int8_t { no = 0, yes = 1, apart = 2 };

/// known[t] for a solid whose distance phi at nodes (m) is exact where |phi| < band: apart inside of it; yes in cut tetrahedra
/// and, with `closest`, where a node is in the band.
void find_known(std::span<const mesh::Tet> tets, std::span<const double> phi, double band, std::span<const bool> cut,
                std::span<const bool> inside, bool closest, std::span<std::int8_t> known);

/// Sets normal and velocity (m/s) of the unknown tetrahedra that are connected with known ones by others that are not apart:
/// these take no part. Those without connection, and those beyond so many layers, keep their values. A node takes the mean of the
/// tetrahedra at it that have values, then a tetrahedron the mean of its nodes that have. Normals are renormalised.
void continue_averages(const mesh::VertexStars<4>& stars, std::span<const std::int8_t> known, Index layers,
                       std::span<mesh::Point> normal, std::span<mesh::Point> velocity);

/// The same, but nodes, and then tetrahedra, choose among the points of the surface that their neighbours chose the closest to
/// themselves. A tetrahedron takes the mean of what its nodes chose. `near` are the known tetrahedra and `closest` their points,
/// m.
void continue_closest(const mesh::VertexStars<4>& stars, std::span<const mesh::Point> positions,
                      std::span<const std::int8_t> known, std::span<const std::int64_t> near,
                      std::span<const mesh::Point> closest, Index layers, std::span<mesh::Point> normal,
                      std::span<mesh::Point> velocity);

}  // namespace meniscus::surface
