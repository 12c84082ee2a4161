/// The quadratic (ten-node) tetrahedron: order of its nodes, quadrature points and masses of its nodes.
///
/// Corners 0 to 3 come first, then the nodes on the edges 01, 12, 20, 03, 13, 23 (the order of VTK's quadratic tetrahedra). With
/// barycentric coordinates l_i, corners have the shape functions l_i (2 l_i - 1) and edges 4 l_i l_j.
///
/// Four quadrature points of equal weight lie at l_i = b but l_q = a: exact to degree 2, which is that of the strain energy of
/// elements with straight edges. The derivative of a function with node values u in the direction of l_i is there
/// -u_i + 4 b (u_i + sum of u_ij over j) + 4 (a - b) u_iq, where u_ij is the value on an edge and u_ii that at a corner.
///
/// Source: Zienkiewicz and Taylor, "The finite element method", volume 1, 2000, chapters 8 (shape functions) and 9 (quadrature).
#pragma once

#include "meniscus/core/types.hpp"

#include <array>

namespace meniscus::solids {

using QuadraticTet = std::array<std::int32_t, 10>;

namespace quadratic_tet {

inline constexpr int nodes = 10, points = 4;

/// The node between two corners; the corner itself for equal ones.
inline constexpr int between[4][4] = {{0, 4, 6, 7}, {4, 1, 5, 8}, {6, 5, 2, 9}, {7, 8, 9, 3}};
/// The corners that each node on an edge is between.
inline constexpr int edge[6][2] = {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 3}, {2, 3}};

/// 4 b and 4 (a - b) = 4 / sqrt(5).
inline constexpr double peak = 1.7888543819998318, base = 1.0 - 0.25 * peak;

/// Derivative of the shape function of a node in the direction of l_i at the quadrature point q.
constexpr double slope(int i, int node, int q) {
  if (node == i) return base - 1 + (q == i ? peak : 0);
  for (int j = 0; j < 4; ++j)
    if (j != i && between[i][j] == node) return base + (q == j ? peak : 0);
  return 0;
}

/// Shares of a corner and of a node on an edge in the mass of the element. The sums of rows of the consistent mass matrix are
/// negative at corners (-1/20); these are in proportion to its diagonal, 6 to 32. Source: Hinton, Rock and Zienkiewicz, "A note
/// on mass lumping and related processes in the finite element method", 1976.
inline constexpr double corner_share = 1.0 / 36, edge_share = 4.0 / 27;
constexpr double mass_share(int node) { return node < 4 ? corner_share : edge_share; }

}  // namespace quadratic_tet
}  // namespace meniscus::solids
