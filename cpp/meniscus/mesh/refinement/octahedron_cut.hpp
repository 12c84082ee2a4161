/// Subdivision of a tetrahedron into 8: four at its corners, and four of the octahedron between, around one diagonal.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

namespace meniscus::mesh {

/// Of each diagonal of the octahedron between the middles of the edges (numbered as in `tet_edges`): its ends, and the other
/// middles around it, so that ends and two successive ones are a tetrahedron of positive volume.
struct OctahedronCut {
  std::array<std::size_t, 2> ends;
  std::array<std::size_t, 4> ring;
};
inline constexpr std::array<OctahedronCut, 3> octahedron_cuts{
    {{{0, 5}, {2, 4, 3, 1}}, {{1, 4}, {0, 3, 5, 2}}, {{2, 3}, {0, 1, 5, 4}}}};

/// The shortest diagonal; lengths that differ by round-off alone count as equal, and then it is the first.
inline std::size_t shortest_diagonal(const Tet& tet, std::span<const Point> x) {
  const auto middle = [&](std::size_t e) -> Point {
    const Index a = tet[tet_edges[e][0]];
    const Index b = tet[tet_edges[e][1]];
    return 0.5 * (x[a] + x[b]);
  };
  std::array<double, 3> length;
  for (std::size_t d = 0; d < 3; ++d)
    length[d] = (middle(octahedron_cuts[d].ends[1]) - middle(octahedron_cuts[d].ends[0])).squaredNorm();
  const double limit = *std::min_element(length.begin(), length.end()) * (1 + 1e-9);
  std::size_t d = 0;
  while (!(length[d] <= limit) && d < 2) ++d;
  return d;
}

/// Corners c and the middles m of the six edges, to the eight children around one of the diagonals. They are oriented as their
/// parent.
template <class Corner>
constexpr void cut_into_eight(const std::array<Corner, 4>& c, const Corner* m, std::size_t diagonal,
                              std::array<Corner, 4>* child) {
  child[0] = {c[0], m[0], m[1], m[2]};
  child[1] = {m[0], c[1], m[3], m[4]};
  child[2] = {m[1], m[3], c[2], m[5]};
  child[3] = {m[2], m[4], m[5], c[3]};
  const OctahedronCut& o = octahedron_cuts[diagonal];
  for (std::size_t k = 0; k < 4; ++k) child[4 + k] = {m[o.ends[0]], m[o.ends[1]], m[o.ring[k]], m[o.ring[(k + 1) % 4]]};
}

}  // namespace meniscus::mesh
