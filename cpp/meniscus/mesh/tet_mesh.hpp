/// Non-owning views of tetrahedral and segment meshes.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::mesh {

/// Four corners as positions in an array of vertices: seen from the first, the others go round counter-clockwise, so that the
/// volume is positive.
using Tet = std::array<std::int32_t, 4>;

/// The two ends of a segment.
using Segment = std::array<std::int32_t, 2>;

/// Positions in metres and the tetrahedra between them.
struct TetMeshView {
  std::span<const Point> vertices;
  std::span<const Tet> tets;

  Index size() const { return static_cast<Index>(tets.size()); }
  const Tet& tet(Index t) const { return tets[t]; }
  const Point& corner(Index t, int k) const { return vertices[tet(t)[k]]; }
};

/// The corners of the face opposite of each corner, counter-clockwise as seen from outside of a tetrahedron of positive volume.
inline constexpr std::array<std::array<std::size_t, 3>, 4> tet_faces{{{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}}};

/// The corners that the six edges join, in ascending order; edges k and 5 - k are opposite of each other.
inline constexpr std::array<std::array<std::size_t, 2>, 6> tet_edges{{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}};

/// The volume of a tetrahedron, negative where it is inverted, m^3.
inline double signed_volume(const Point& a, const Point& b, const Point& c, const Point& d) {
  return (b - a).dot((c - a).cross(d - a)) / 6;
}

inline double signed_volume(const TetMeshView& mesh, Index t) {
  return signed_volume(mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2), mesh.corner(t, 3));
}

/// Throws InvalidArgument for a corner that is no vertex and for a tetrahedron that has a corner twice, naming the first. A mesh
/// without tetrahedra is valid.
void require_valid_elements(std::span<const Tet> tets, Index vertices);

/// The same for segments.
void require_valid_elements(std::span<const Segment> segments, Index vertices);

/// The same for triangles; with `repeated`, a triangle may have a corner twice.
void require_valid_elements(std::span<const Triangle> triangles, Index vertices, bool repeated = true);

}  // namespace meniscus::mesh
