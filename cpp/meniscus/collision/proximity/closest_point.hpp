/// Closest points of a triangle and of a triangle mesh to a given point.
///
/// Source: Ericson, "Real-time collision detection", 2005, section 5.1.5 (the regions of a triangle).
#pragma once

#include "meniscus/mesh/search/triangle_tree.hpp"

namespace meniscus::collision {

/// Feature that contains a closest point: corner 0, 1 or 2; the edge from corner 0 to 1, 1 to 2 or 2 to 0; or the face.
enum class TriangleFeature : std::int8_t { corner0, corner1, corner2, edge01, edge12, edge20, face };

struct TrianglePoint {
  mesh::Point position;
  /// Barycentric coordinates: not negative, with sum 1, and exactly 0 for corners that the feature does not touch.
  mesh::Point barycentric;
  double squared_distance;
  TriangleFeature feature;
};

/// Closest point of the triangle a, b, c, which may be arbitrarily thin, or degenerate to a segment or a point.
TrianglePoint closest_point_on_triangle(const mesh::Point& p, const mesh::Point& a, const mesh::Point& b, const mesh::Point& c);

/// A closest point of a mesh. Of several triangles at equal distance, the one with the lowest number.
struct MeshPoint : TrianglePoint {
  std::int32_t triangle = -1;
  /// The triangle's slot in the tree, a hint for a query nearby.
  std::int32_t slot = 0;
};

/// Closest point of all triangles of the tree, which must not be empty. `hint` is the slot of a triangle that is likely to be
/// close; the result does not depend on it.
MeshPoint closest_point(const mesh::TriangleTree& tree, const mesh::Point& p, std::int32_t hint = 0);

/// Whether a triangle of the tree, which must not be empty, has a point at most `radius` away from p. `slot` is a hint as above,
/// and becomes that of such a triangle.
bool within_distance(const mesh::TriangleTree& tree, const mesh::Point& p, double radius, std::int32_t& slot);

/// The same as `closest_point` for many points, in parallel.
void closest_points(const mesh::TriangleTree& tree, std::span<const mesh::Point> points, std::span<MeshPoint> out);

/// Memory for n closest points: one value each, or a row of three.
struct ClosestPointColumns {
  double* distance;
  std::int32_t* triangle;
  double *barycentric, *position;
};

void store_closest_points(std::span<const MeshPoint> points, const ClosestPointColumns& out);

}  // namespace meniscus::collision
