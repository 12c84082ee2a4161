/// How far the boundary of a mesh that is being edited is away from a surface, as samples see it.
#pragma once

#include "meniscus/mesh/refinement/tet_editing.hpp"
#include "meniscus/surface/shapes/mesh_distance.hpp"

#include <limits>

namespace meniscus {

/// The largest distance of the samples of a triangle or an edge from the surface, m, and the sample.
struct Deviation {
  double distance = 0;
  Point sample{Point::Zero()};
};

/// What some triangles are beyond the tolerance: the largest, m, and the sum of squares, m^2.
struct Excess {
  double largest = 0, sum = 0;
  bool below(const Excess& other) const { return largest <= other.largest || sum < other.sum; }
};

class BoundaryDeviation {
 public:
  /// Both have to live as long. Up to `tolerance` (m) nothing is in excess.
  BoundaryDeviation(const TetEditor& mesh, const MeshDistance& surface, double tolerance)
      : mesh_(mesh), surface_(surface), tolerance_(tolerance) {}

  double tolerance() const { return tolerance_; }
  Point projected(const Point& x) const;

  Deviation of_edge(std::int32_t a, std::int32_t b) const;
  Deviation of_face(const Triangle& face) const;
  /// The largest one of some faces, or any that is above `enough`, m.
  double of_faces(std::span<const Triangle> faces, double enough = std::numeric_limits<double>::infinity()) const;

  Excess excess(std::span<const Triangle> faces) const;
  /// That of the boundary faces within a radius of x that hang together with the vertex `start`.
  Excess excess_near(std::int32_t start, const Point& x, double radius) const;

 private:
  const TetEditor& mesh_;
  const MeshDistance& surface_;
  double tolerance_;
  /// Where the last closest point was found: the next one is not far. It changes no result.
  mutable std::int32_t hint_ = 0;
};

/// The corners of the triangles of a mesh, and points on them that are at most `spacing` (m) apart.
std::vector<Point> triangle_samples(const TriangleMeshView& mesh, double spacing);

}  // namespace meniscus
