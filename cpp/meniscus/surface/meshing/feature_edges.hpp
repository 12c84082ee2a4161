/// Sharp edges of a triangle surface, the curves that they make, and the corners where these end or turn.
#pragma once

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/mesh/tet_mesh.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace meniscus::surface {

/// Whether a point of a surface belongs to the boundary of the solid; empty where all do.
using PointFilter = std::function<bool(const mesh::Point&)>;

/// A point of a sharp edge and the curve that the edge belongs to.
struct FeaturePoint {
  mesh::Point position;
  double distance = 0;
  std::int32_t curve = -1;
};

class FeatureEdges {
 public:
  /// The edges at which normals turn by more than `angle` (radians, below pi), and those without two triangles. Curves shorter
  /// than `shortest` (m) are left out unless they join two corners. A corner is a vertex where three or more sharp edges meet, or
  /// two that turn by more than `angle`. Edges whose middle does not count are none.
  FeatureEdges(const mesh::TriangleMeshView& mesh, double angle, double shortest, const PointFilter& counts = {});

  bool empty() const { return !tree_; }
  std::span<const mesh::Segment> edges() const { return edges_; }
  /// The curve of each edge: edges connected over vertices that are no corners.
  std::span<const std::int32_t> curve_of() const { return curve_; }
  std::int32_t curves() const { return curves_; }
  /// Positions, in ascending order of vertices.
  std::span<const mesh::Point> corners() const { return corners_; }

  /// The closest point of all sharp edges; there must be at least one edge.
  FeaturePoint closest(const mesh::Point& p) const;

 private:
  std::vector<mesh::Segment> edges_;
  std::vector<std::int32_t> curve_;
  std::int32_t curves_ = 0;
  std::vector<mesh::Point> corners_;
  std::optional<mesh::TriangleTree> tree_;  // of edges, as triangles that have a corner twice
};

}  // namespace meniscus::surface
