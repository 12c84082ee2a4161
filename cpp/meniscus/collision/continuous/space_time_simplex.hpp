/// Continuous collision detection between simplices in space and time (the first method of Brochu's thesis), for comparison.
///
/// A moving vertex is a segment in space and time. A moving edge is cut into two triangles and a moving face into
/// three tetrahedra, along diagonals that start at the vertex with the smaller index: neighbours cut their common
/// sides alike, so that nothing leaks between them. Contact of these is a linear problem, decided exactly. But
/// during the step the elements are not the linear interpolation: they bend along the diagonals. Only elements
/// that are translated as a whole move exactly.
///
/// Source: Brochu 2012, section 4.3.
#pragma once

#include "meniscus/collision/continuous/continuous_collision.hpp"
#include "meniscus/collision/continuous/simplex_pair.hpp"

#include <limits>

namespace meniscus::collision {

/// Data of the first simplices that meet. If they meet in several points, one of them is used.
struct SpaceTimeContact {
  double time = std::numeric_limits<double>::infinity();
  /// Unit normal of the whole face, or of the two whole edges, at the start or the end, whichever the
  /// simplices contain; zero if these are degenerate.
  mesh::Point normal = mesh::Point::Zero();
  /// Along the normal: the displacement, over the whole step, of the vertex or of the vertex that is wholly within the simplex of
  /// the first edge, minus that of such a vertex of the other element.
  double displacement = 0;

  bool contact() const { return time <= 1; }
};

/// Four points as in continuous collision detection, and their indices in the mesh.
SpaceTimeContact space_time_contact(PairKind kind, SimplexMethod method, std::span<const mesh::Point, 4> start,
                                    std::span<const mesh::Point, 4> end, const std::array<std::int64_t, 4>& indices);

/// In two dimensions: a point, then the ends of a segment; third coordinates are zero.
SpaceTimeContact space_time_point_segment(SimplexMethod method, std::span<const mesh::Point, 3> start,
                                          std::span<const mesh::Point, 3> end, const std::array<std::int64_t, 3>& indices);

}  // namespace meniscus::collision
