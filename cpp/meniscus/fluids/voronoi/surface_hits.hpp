/// Exact queries of a closed surface: inside or outside, and where ways cross it.
#pragma once

#include "meniscus/mesh/search/triangle_tree.hpp"

#include <vector>

namespace meniscus::fluids {

/// Where a way crosses a triangle: the part of the way before it, whether it leaves the inside there, and barycentric
/// coordinates.
struct SurfaceHit {
  double part;
  std::int32_t triangle;
  bool leaves;
  mesh::Point barycentric;
};

/// All signs are exact. A way through an edge or a vertex hits one of its triangles, or two where it only touches.
///
/// Source: Brochu 2012, sections 4.5.3 (parity of a ray) and 7.5 (positions of the surface by casting rays).
class SurfaceHits {
 public:
  /// Copies positions and triangles.
  explicit SurfaceHits(const mesh::TriangleMeshView& surface);

  mesh::TriangleMeshView surface() const { return {vertices_, triangles_}; }
  const mesh::TriangleTree& tree() const { return tree_; }

  /// Whether an upward ray has an odd number of crossings. The ray goes by vertices and edges as if it were moved by infinitely
  /// little, so a point on no triangle is never in doubt.
  bool inside(const mesh::Point& p) const;
  void inside(std::span<const mesh::Point> points, std::span<std::uint8_t> out) const;

  /// All crossings of the way from a to b, ordered along it; triangles with the vertex `except` do not count.
  void cross(const mesh::Point& a, const mesh::Point& b, std::vector<SurfaceHit>& out, std::int32_t except = -1) const;

  /// Whether a point is within a distance, m, of the surface.
  bool near(const mesh::Point& p, double distance) const;

 private:
  std::vector<mesh::Point> vertices_;
  std::vector<mesh::Triangle> triangles_;
  mesh::TriangleTree tree_;
};

}  // namespace meniscus::fluids
