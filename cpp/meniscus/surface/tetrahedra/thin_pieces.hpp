/// Tetrahedra in which the sign of a distance changes, also where it does not from node to node: because of a thin plate, a
/// spike, a ball or a hole inside of one tetrahedron.
///
/// A tetrahedron whose nodes are on one side is divided until a point of the other side is found, or all parts are proven free:
/// the distance in their middle is greater than their radius. A tetrahedron with a part of 1/64 of its edges that is still
/// undecided counts as cut, so that none is missed; what is cut wrongly is no farther from the surface than that. A signed
/// distance changes by no more than the way from point to point; for other functions, `slope` is the greatest change per metre.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/surface/tetrahedra/signed_distance.hpp"

namespace meniscus::surface {

/// out[t] = whether the sign changes in tetrahedron t. phi (m) are values at the nodes, of the right sign, and not above the
/// distance in size; `longest_edge` is a bound of the edges, m.
void sign_changes(const mesh::TetMeshView& mesh, std::span<const double> phi, const SignedDistance& distance, double slope,
                  double longest_edge, std::span<bool> out);

}  // namespace meniscus::surface
