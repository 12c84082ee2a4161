/// Non-owning views of triangle meshes.
#pragma once

#include "meniscus/core/types.hpp"

#include <Eigen/Geometry>

#include <algorithm>
#include <span>

namespace meniscus::mesh {

/// A position in metres. Collision geometry is double precision only.
using Point = Vec<double, 3>;

/// Three corners as positions in an array of vertices, counter-clockwise as seen from outside.
using Triangle = std::array<std::int32_t, 3>;

/// Positions in metres and the triangles between them.
struct TriangleMeshView {
  std::span<const Point> vertices;
  std::span<const Triangle> triangles;

  Index size() const { return static_cast<Index>(triangles.size()); }
  const Triangle& triangle(Index t) const { return triangles[t]; }
  const Point& corner(Index t, int k) const { return vertices[triangle(t)[k]]; }
};

/// Twice the area of a triangle times its unit normal.
inline Point area_vector(const Point& a, const Point& b, const Point& c) { return (b - a).cross(c - a); }

/// True where the corners lie on one line to within round-off (also where two of them coincide): such a triangle has no normal.
inline bool has_no_area(const Point& a, const Point& b, const Point& c) {
  const double longest = std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
  return area_vector(a, b, c).norm() <= 1e-14 * longest;
}

/// Throws InvalidArgument for fewer than one triangle, a corner that is no vertex, and positions that are not finite, naming the
/// first.
void require_valid(const TriangleMeshView& mesh);

/// Throws InvalidArgument that names the first of `positions` (called `name`) that is not finite.
void require_finite(std::span<const Point> positions, const char* name);

/// Throws InvalidArgument also for positions so large that powers of distances between them overflow.
void require_measurable(std::span<const Point> positions, const char* name);

}  // namespace meniscus::mesh
