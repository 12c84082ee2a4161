/// Angle-weighted pseudo-normals. A point is outside of a watertight mesh exactly if it lies on the positive side of the
/// pseudo-normal of the feature (vertex, edge or face) that contains its closest point.
///
/// Source: Baerentzen and Aanaes, "Signed distance computation using the angle weighted pseudonormal", 2005.
#pragma once

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/mesh/topology/triangle_topology.hpp"

namespace meniscus::surface {

class PseudoNormals {
 public:
  /// `sides` are those of a `mesh::SurfaceOrientation`.
  PseudoNormals(const mesh::TriangleMeshView& mesh, const mesh::TriangleTopology& topology, std::span<const signed char> sides);

  /// The unit pseudo-normal at a closest point; zero if it is undefined (a triangle without area, or
  /// normals around the feature that cancel).
  mesh::Point at(const collision::MeshPoint& closest, const mesh::Triangle& triangle,
                 const mesh::TriangleTopology& topology) const;

 private:
  std::vector<mesh::Point> face_;
  std::vector<mesh::Point> edge_;
  std::vector<mesh::Point> vertex_;
};

}  // namespace meniscus::surface
