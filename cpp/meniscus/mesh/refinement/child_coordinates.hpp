/// Barycentric coordinates in the children of a subdivided tetrahedron: which child holds a point, and where in it.
///
/// A child's corners are corners of its parent and middles of its edges, so the coordinates in the child are combinations of
/// those in the parent with the coefficients 0, 1, -1 and 2, whatever the positions of the corners. Rows have at most four of
/// these, so that an error of the coordinates grows by at most a factor of 4. All rows together preserve the sum.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/mesh/refinement/octahedron_cut.hpp"

#include <cstring>

namespace meniscus::mesh {

/// Coefficients of one child: coordinate i is the sum of column[k][i] times coordinate k in the parent.
struct ChildCoordinates {
  alignas(32) std::array<std::array<double, 4>, 4> column;
};

namespace detail {

/// The two corners of the parent in whose middle each corner of the children lies, twice the same for the parent's own.
using ParentPair = std::array<std::size_t, 2>;

constexpr std::array<std::array<ParentPair, 4>, 8> child_corners(std::size_t diagonal) {
  std::array<ParentPair, 6> middles{};
  for (std::size_t e = 0; e < 6; ++e) middles[e] = {tet_edges[e][0], tet_edges[e][1]};
  std::array<std::array<ParentPair, 4>, 8> child{};
  cut_into_eight<ParentPair>({{{0, 0}, {1, 1}, {2, 2}, {3, 3}}}, middles.data(), diagonal, child.data());
  return child;
}

/// The inverse of the matrix whose columns are the corners of a child in the coordinates of its parent. Twice that matrix
/// consists of integers and has the determinant 2, since a child has an eighth of the volume; so the inverse is its adjugate.
constexpr ChildCoordinates child_coordinates_of(const std::array<ParentPair, 4>& corners) {
  std::array<std::array<int, 4>, 4> twice{};
  for (std::size_t j = 0; j < 4; ++j)
    for (const std::size_t i : corners[j]) twice[i][j] += 1;
  ChildCoordinates result{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      std::array<std::array<int, 3>, 3> m{};
      for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t c = 0; c < 3; ++c) m[r][c] = twice[r + (r >= i)][c + (c >= j)];
      const int minor = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                        m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
      result.column[i][j] = (i + j) % 2 ? -minor : minor;
    }
  return result;
}

constexpr std::array<ChildCoordinates, 16> all_child_coordinates() {
  std::array<ChildCoordinates, 16> result{};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto corners = child_corners(d);
    for (std::size_t c = 0; c < 8; ++c) result[c < 4 ? c : 4 * d + c] = child_coordinates_of(corners[c]);
  }
  return result;
}

/// Of each diagonal and each combination of the bits that `child_at` forms, the child.
constexpr std::array<std::array<std::uint8_t, 256>, 3> all_children() {
  std::array<std::array<std::uint8_t, 256>, 3> result{};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto corners = child_corners(d);
    for (std::size_t signs = 0; signs < 256; ++signs) {
      std::size_t child = 8;
      for (std::size_t k = 4; k-- > 0;)
        if (signs >> k & 1) child = k;
      for (std::size_t c = 4; c < 8 && child == 8; ++c) {
        // The centre lies beside the two planes that cut the octahedron, and on the third where coordinates 0 and d + 1 are a
        // half.
        std::array<int, 4> centre{};
        for (const ParentPair& pair : corners[c])
          for (const std::size_t k : pair) centre[k] += 1;
        bool same = true;
        for (std::size_t k = 1; k < 4; ++k)
          if (k != d + 1) same = same && (2 * (centre[0] + centre[k]) > 8) == ((signs >> (4 + k) & 1) != 0);
        if (same) child = c;
      }
      result[d][signs] = static_cast<std::uint8_t>(child);
    }
  }
  return result;
}

}  // namespace detail

/// Row `child` for the four at the corners, 4 * diagonal + child for the four of the octahedron.
inline constexpr std::array<ChildCoordinates, 16> child_coordinates = detail::all_child_coordinates();
inline constexpr std::size_t child_coordinates_row(std::size_t diagonal, std::size_t child) {
  return child < 4 ? child : 4 * diagonal + child;
}

inline constexpr std::array<std::array<std::uint8_t, 256>, 3> children_by_signs = detail::all_children();

/// Four coordinates, as a vector register where there is one.
using CoordinateLanes = double __attribute__((vector_size(32)));

/// The child that holds a point with the given coordinates, of sum 1, up to their round-off: where it lies beside all faces
/// between children, it is the right one. Any child for a point outside of the parent.
MENISCUS_INLINE std::size_t child_at(const double* b, std::size_t diagonal) {
  using Bits = long long __attribute__((vector_size(32)));
  const CoordinateLanes limit{0.5, 0.5, 0.5, 0.5};
  const CoordinateLanes one{b[0], b[1], b[2], b[3]};
  const CoordinateLanes two{b[0], b[0] + b[1], b[0] + b[2], b[0] + b[3]};
  const Bits bits = ((one > limit) & Bits{1, 2, 4, 8}) | ((two > limit) & Bits{0, 32, 64, 128});
  const Index signs = (bits[0] | bits[1]) | (bits[2] | bits[3]);
  return children_by_signs[diagonal][signs];
}

/// The coordinates in a child from those in its parent; `c` may be `b`.
MENISCUS_INLINE void to_child(std::size_t row, const double* b, double* c) {
  std::array<CoordinateLanes, 4> m;
  static_assert(sizeof(m) == sizeof(ChildCoordinates));
  std::memcpy(m.data(), &child_coordinates[row], sizeof(m));
  const CoordinateLanes r = (b[0] * m[0] + b[1] * m[1]) + (b[2] * m[2] + b[3] * m[3]);
  std::memcpy(c, &r, sizeof(r));
}

}  // namespace meniscus::mesh
