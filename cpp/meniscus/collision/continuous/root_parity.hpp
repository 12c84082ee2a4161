/// Root-parity test of continuous collision detection: whether a step has a contact on the border of its parameter domain, or an
/// odd number of contacts inside it, by exact ray casting.
///
/// The step is a function F(t, u, v) that is zero where the elements touch; its domain is a prism for a vertex and a face, a cube
/// for two edges. If F has no zero on the border of the domain, the number of zeros within is odd exactly if a ray from zero
/// crosses the image of the border an odd number of times. This image consists of triangles and bilinear patches, and a patch can
/// be replaced by two faces of the tetrahedron over its corners, chosen by the side of the patch on which zero lies.
///
/// All signs are those of integers. Flat patches, faces without area and edges without length are decided exactly; rays that meet
/// an edge are replaced by the next of a fixed sequence.
///
/// Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, sections 4.5.1 to 4.5.3. The exact treatment of flat
/// patches and of degenerate triangles is ours.
#pragma once

#include "meniscus/collision/continuous/continuous_collision.hpp"

namespace meniscus::collision {

/// Whether the pair collides in the sense of ContactMode::parity. `first_ray` is the first ray of the sequence to try; the answer
/// does not depend on it.
bool root_parity(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end,
                 unsigned first_ray = 0);

}  // namespace meniscus::collision
