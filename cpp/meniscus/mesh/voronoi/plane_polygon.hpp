/// Convex polygons in a plane, clipped by half-spaces.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <vector>

namespace meniscus::mesh {

/// Area (m^2), along a normal, and centroid of a polygon.
struct PolygonMeasure {
  double area = 0;
  Point centroid = Point::Zero();
};

/// Of a polygon that is counter-clockwise about a unit normal. Where it has no area, the centroid is its first corner.
PolygonMeasure measure_polygon(std::span<const Point> corners, const Point& normal);

/// Begins as a square around an origin. Keeps its memory.
class PlanePolygon {
 public:
  /// `normal` is a unit vector, about which the polygon is counter-clockwise; `reach` is half of an edge, m.
  void begin(const Point& origin, const Point& normal, double reach);
  /// Cuts off what lies in normal . (x - origin) > offset, with the origin of the polygon.
  void clip(const Point& normal, double offset);
  std::span<const Point> corners() const { return corners_; }

 private:
  Point origin_ = Point::Zero();
  std::vector<Point> corners_, cut_;
};

}  // namespace meniscus::mesh
