#include "meniscus/mesh/voronoi/plane_polygon.hpp"

namespace meniscus::mesh {

PolygonMeasure measure_polygon(std::span<const Point> corners, const Point& normal) {
  PolygonMeasure out;
  if (corners.empty()) return out;
  const Point& first = corners[0];
  Point moment = Point::Zero();
  for (std::size_t k = 1; k + 1 < corners.size(); ++k) {
    const double area = area_vector(first, corners[k], corners[k + 1]).dot(normal) / 2;
    out.area += area;
    moment += area / 3 * ((corners[k] - first) + (corners[k + 1] - first));
  }
  out.centroid = first;
  if (out.area > 0) out.centroid += moment / out.area;
  return out;
}

void PlanePolygon::begin(const Point& origin, const Point& normal, double reach) {
  origin_ = origin;
  const Point u = reach * normal.unitOrthogonal(), v = normal.cross(u);
  corners_.assign({origin - u - v, origin + u - v, origin + u + v, origin - u + v});
}

void PlanePolygon::clip(const Point& normal, double offset) {
  if (corners_.empty()) return;
  cut_.clear();
  const auto height = [&](const Point& x) { return normal.dot(x - origin_) - offset; };
  Point a = corners_.back();
  double at_a = height(a);
  for (const Point& b : corners_) {
    const double at_b = height(b);
    if ((at_a > 0) != (at_b > 0)) cut_.push_back(a + at_a / (at_a - at_b) * (b - a));
    if (!(at_b > 0)) cut_.push_back(b);
    a = b;
    at_a = at_b;
  }
  corners_.swap(cut_);
}

}  // namespace meniscus::mesh
