/// Cases of marching squares and cubes: the surface in one square or cube of samples, for every choice of corners inside.
///
/// A face of a cube with two opposite corners inside is cut so that they are separate and the outside is joined. The choice
/// depends on the signs on the face alone, so cubes that share it agree, and samples are connected inside exactly where a path of
/// inside neighbours along the axes connects them. The crossings form loops over the faces of a cube; each loop becomes
/// triangles without a chord between two crossings of one face, so that every edge belongs to two triangles and the triangles at
/// every vertex form one fan. The tables are made by rule when they are first asked for.
///
/// Source: Lorensen and Cline 1987 (marching cubes), with our own rules for ambiguous faces and for the triangles of a loop.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::surface {

/// Bit d of a corner's number: upper along axis d.
struct CubeEdge {
  int axis;
  int corner;  ///< the lower end; the upper one is corner | 1 << axis
};

/// Edges 4 a to 4 a + 3 are along axis a.
extern const std::array<CubeEdge, 12> cube_edges;

struct CubeCase {
  int edge_count = 0;
  std::array<std::int8_t, 12> edges{};  ///< those with a crossing
  int triangle_count = 0;
  std::array<std::array<std::int8_t, 3>, 5> triangles{};  ///< positions in `edges`; normals point out of the inside
  std::array<std::int8_t, 5> triangle_piece{};
  int pieces = 0;                             ///< connected parts of the inside
  std::array<std::int8_t, 8> corner_piece{};  ///< -1 outside
};

/// Indexed by the bits of the corners inside.
const std::array<CubeCase, 256>& cube_cases();

/// Corners 0, 1, 3, 2 go round counter-clockwise. A polygon's vertices are numbered 0 to 3 at corners and 4 + i on the edge from
/// corner round[i] to the next.
struct SquareCase {
  int polygon_count = 0;
  std::array<int, 2> sizes{};
  std::array<std::array<std::int8_t, 5>, 2> polygons{};  ///< the inside, counter-clockwise
  std::array<std::int8_t, 2> corner{};                   ///< one corner of each
  int segment_count = 0;
  std::array<std::array<std::int8_t, 2>, 2> segments{};  ///< edges with crossings (0 to 3), the inside to the left
  int triangle_count = 0;
  std::array<std::array<std::int8_t, 3>, 3> triangles{};  ///< of all polygons
};

inline constexpr std::array<int, 4> square_round{0, 1, 3, 2};

/// Indexed by the bits of the corners inside.
const std::array<SquareCase, 16>& square_cases();

}  // namespace meniscus::surface
