/// Deviation of the boundary of an edited mesh from a surface, measured at sample points.
#pragma once

#include "meniscus/mesh/refinement/tet_editing.hpp"
#include "meniscus/surface/meshing/feature_edges.hpp"
#include "meniscus/surface/shapes/mesh_distance.hpp"

namespace meniscus::surface {

/// The largest distance of the samples of a triangle or an edge from the surface, m, and the sample; 0 within the tolerance.
struct Deviation {
  double distance = 0;
  mesh::Point sample{mesh::Point::Zero()};
};

/// Deviation of some triangles beyond the tolerance: the largest, m, and the sum of squares, m^2.
struct Excess {
  double largest = 0, sum = 0;
  bool below(const Excess& other) const { return largest <= other.largest || sum < other.sum; }
  void add(double distance) {
    largest = std::max(largest, distance);
    sum += distance * distance;
  }
};

class BoundaryDeviation {
 public:
  /// Both arguments must outlive this object. Deviations up to `tolerance` (m) are no excess.
  BoundaryDeviation(const mesh::TetEditor& mesh, const MeshDistance& surface, double tolerance)
      : mesh_(mesh), surface_(surface), tolerance_(tolerance) {}

  double tolerance() const { return tolerance_; }
  mesh::Point projected(const mesh::Point& x) const;

  // Deviations up to the tolerance count as zero.
  Deviation of_edge(std::int32_t a, std::int32_t b) const;
  Deviation of_face(const mesh::Triangle& face) const;
  /// The same with samples that are at most `spacing` (m) apart.
  Deviation of_face(const mesh::Triangle& face, double spacing) const;
  /// The largest one of some faces, m.
  double of_faces(std::span<const mesh::Triangle> faces) const;

  /// Whether no sample of some faces is farther than `limit` (m) from the surface.
  bool within(std::span<const mesh::Triangle> faces, double limit) const;
  /// The same for the samples of the faces at a vertex that move with it.
  bool within_around(std::int32_t v, std::span<const mesh::Triangle> faces, double limit) const;

  Excess excess(std::span<const mesh::Triangle> faces) const;
  /// Excess of the boundary faces within a radius of x that are connected with the vertex `start`.
  Excess excess_near(std::int32_t start, const mesh::Point& x, double radius) const;

 private:
  /// Takes a sample into account that is farther away than the tolerance and all others.
  void raise(Deviation& worst, const mesh::Point& sample) const;

  const mesh::TetEditor& mesh_;
  const MeshDistance& surface_;
  double tolerance_;
  /// Place of the last closest point, because the next one is near. It changes no result.
  mutable std::int32_t hint_ = 0;
};

/// Which points of a surface are on the boundary of its inside, within a hundredth of a cell (m): those of parts that lie within
/// others are not. The surface must outlive the result.
PointFilter boundary_filter(const MeshDistance& surface, double cell);

/// The corners of the triangles of a mesh, and points on them that are at most `spacing` (m) apart.
std::vector<mesh::Point> triangle_samples(const mesh::TriangleMeshView& mesh, double spacing);

/// The largest distance of points of a mesh, at most `spacing` (m) apart, from a surface, and the point; 0 if none is farther
/// away than `least` (m). Points that do not count are left out. In parallel.
Deviation largest_deviation(const mesh::TriangleMeshView& mesh, const mesh::TriangleTree& surface, double spacing, double least,
                            const PointFilter& counts = {});

}  // namespace meniscus::surface
