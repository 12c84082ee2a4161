/// Seven altitudes of a tetrahedron.
///
/// Source: Selle 2008, section 5.3.4; the order of the nodes of each candidate makes all signed lengths positive for a
/// tetrahedron of positive volume.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <Eigen/Geometry>

#include <array>

namespace meniscus::solids::altitudes {

/// Vertex and face, or first and second edge: with the corners in this order, the base is spanned by u and v, and r leads to it.
struct Candidate {
  std::array<std::size_t, 4> corner;
  /// The edges that u and v are, in the order 01, 02, 03, 12, 13, 23.
  std::size_t u_edge;
  std::size_t v_edge;
};

inline constexpr std::size_t faces = 4;

inline constexpr std::array<Candidate, 7> table{{
    {{0, 1, 3, 2}, 4, 3},
    {{1, 0, 2, 3}, 1, 2},
    {{2, 0, 3, 1}, 2, 0},
    {{3, 0, 1, 2}, 0, 1},
    {{0, 1, 2, 3}, 0, 5},
    {{1, 2, 0, 3}, 3, 2},
    {{0, 2, 3, 1}, 1, 4},
}};

/// The vectors of a candidate: r = w1 u + w2 v + length n with n along u x v.
struct Frame {
  mesh::Point u;
  mesh::Point v;
  mesh::Point r;
};

template <class Corners>
Frame frame(const Corners& p, std::size_t candidate) {
  const auto& k = table[candidate].corner;
  if (candidate < faces) return {p[k[2]] - p[k[1]], p[k[3]] - p[k[1]], p[k[0]] - p[k[1]]};
  return {p[k[1]] - p[k[0]], p[k[3]] - p[k[2]], p[k[0]] - p[k[2]]};
}

/// The weights of the nodes in the vector between the two ends of the altitude, from w1 and w2; in the order of the tetrahedron.
inline std::array<double, 4> weights(std::size_t candidate, double w1, double w2) {
  const auto& k = table[candidate].corner;
  std::array<double, 4> w{};
  if (candidate < faces) {
    w[k[0]] = 1;
    w[k[1]] = -(1 - w1 - w2);
    w[k[2]] = -w1;
    w[k[3]] = -w2;
  } else {
    w[k[0]] = 1 + w1;
    w[k[1]] = -w1;
    w[k[2]] = -(1 - w2);
    w[k[3]] = -w2;
  }
  return w;
}

/// The change of the weights with w1 and w2.
inline std::array<double, 4> weight_changes(std::size_t candidate, double dw1, double dw2) {
  const auto& k = table[candidate].corner;
  std::array<double, 4> w{};
  if (candidate < faces) {
    w[k[1]] = dw1 + dw2;
    w[k[2]] = -dw1;
    w[k[3]] = -dw2;
  } else {
    w[k[0]] = dw1;
    w[k[1]] = -dw1;
    w[k[2]] = dw2;
    w[k[3]] = -dw2;
  }
  return w;
}

}  // namespace meniscus::solids::altitudes
