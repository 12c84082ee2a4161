/// Occupancy of tetrahedra by a solid: fraction, cut cells, and cells inside.
///
/// Source: Lee 2018, section 3.3.1 (cut cells; counted sample points). The fraction below a linear level set, which is second
/// order, is ours.
#pragma once

#include "meniscus/mesh/quadrature/tet_samples.hpp"
#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/surface/tetrahedra/signed_distance.hpp"

#include <vector>

namespace meniscus::surface {

/// The longest edge of a mesh, m.
double longest_edge(const mesh::TetMeshView& mesh);

/// The tetrahedra, ascending, in which a region may be: those whose corners are all in it, where the distances `phi` at the nodes
/// are not positive, and those with no corner at a distance of `reach`, m, or more.
std::vector<std::int32_t> tets_of_region(std::span<const mesh::Tet> tets, std::span<const double> phi, double reach);

/// Joins a solid to a union. Of it, `member_phi` (m, at nodes) and `member_touched` (by its surface) are given; the union has
/// phi, the tetrahedra touched by the surface of a member, and those inside of a member. First call: phi = infinity, the masks
/// false.
void join_member(std::span<const mesh::Tet> tets, std::span<const double> member_phi, std::span<const bool> member_touched,
                 std::span<double> phi, std::span<bool> touched, std::span<bool> inside);

/// fraction: share of the volume below the linear level set; cut: touched and inside of no member, or 0 < fraction < 1; inside:
/// of a member, or fraction 1 and not cut.
void set_occupancy(std::span<const mesh::Tet> tets, std::span<const double> phi, std::span<const bool> touched,
                   std::span<double> fraction, std::span<bool> cut, std::span<bool> inside);

/// In cut tetrahedra, fraction = the share of sample points with distance <= 0.
void count_samples(const mesh::TetMeshView& mesh, std::span<const bool> cut, const SignedDistance& distance,
                   std::span<const mesh::TetWeights> samples, std::span<double> fraction);

}  // namespace meniscus::surface
