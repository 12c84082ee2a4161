#include "meniscus/fluids/voronoi/surface_measures.hpp"

#include "meniscus/surface/tracking/motions/mean_curvature.hpp"

namespace meniscus::fluids {
namespace {

using mesh::Point;
using Polygon = std::vector<Point>;

/// The part of a polygon where sign * x[d] <= sign * at.
void cut_polygon(const Polygon& in, Index d, double at, double sign, Polygon& out) {
  out.clear();
  for (std::size_t k = 0; k < in.size(); ++k) {
    const Point &a = in[k], &b = in[(k + 1) % in.size()];
    const double u = sign * (a[d] - at), v = sign * (b[d] - at);
    if (u <= 0) out.push_back(a);
    if ((u < 0 && v > 0) || (u > 0 && v < 0)) {
      out.push_back(a + u / (u - v) * (b - a));
      out.back()[d] = at;
    }
  }
}

void add_polygon(const Polygon& polygon, const mesh::Box& box, PartMeasure& out) {
  const Point origin = 0.5 * (box.low + box.high);
  const auto moved = [&](const Point& p) { return Point(p.cwiseMax(box.low).cwiseMin(box.high) - origin); };
  const auto at_wall = [&](const Point& p) {
    return (p.array() <= box.low.array()).any() || (p.array() >= box.high.array()).any();
  };
  Point middle = Point::Zero();
  for (const Point& p : polygon) middle += p / static_cast<double>(polygon.size());
  const bool inside = !at_wall(middle);
  for (std::size_t k = 1; k + 1 < polygon.size(); ++k) {
    const Point a = moved(polygon[0]), b = moved(polygon[k]), c = moved(polygon[k + 1]);
    const double volume = a.dot(b.cross(c)) / 6;
    out.volume += volume;
    out.moment += volume * ((a + b + c) / 4 + origin);
    if (inside) out.area += mesh::area_vector(a, b, c).norm() / 2;
  }
}

/// Cuts a polygon at both walls of an axis and goes on with the next one.
void add_slabs(const Polygon& polygon, Index d, const mesh::Box& box, PartMeasure& out) {
  if (polygon.size() < 3) return;
  if (d == 3) return add_polygon(polygon, box, out);
  double low = polygon[0][d], high = low;
  for (const Point& p : polygon) low = std::min(low, p[d]), high = std::max(high, p[d]);
  Polygon rest = polygon, part;
  if (low < box.low[d] && high > box.low[d]) {
    cut_polygon(rest, d, box.low[d], 1, part);
    add_slabs(part, d + 1, box, out);
    cut_polygon(rest, d, box.low[d], -1, part);
    rest.swap(part);
  }
  if (low < box.high[d] && high > box.high[d]) {
    cut_polygon(rest, d, box.high[d], -1, part);
    add_slabs(part, d + 1, box, out);
    cut_polygon(rest, d, box.high[d], 1, part);
    rest.swap(part);
  }
  add_slabs(rest, d + 1, box, out);
}

}  // namespace

void measure_in_box(const mesh::TriangleMeshView& surface, std::span<const std::int32_t> part, const mesh::Box& box,
                    std::span<PartMeasure> out) {
  Polygon polygon;
  for (Index t = 0; t < surface.size(); ++t) {
    polygon.assign({surface.corner(t, 0), surface.corner(t, 1), surface.corner(t, 2)});
    add_slabs(polygon, 0, box, out[part[t]]);
  }
}

void vertex_curvature(const mesh::TriangleMeshView& surface, std::span<const Point> normals, double limit,
                      std::span<double> out) {
  std::vector<Point> velocity(surface.vertices.size());
  surface::curvature_velocity(surface, velocity);
  for (std::size_t v = 0; v < velocity.size(); ++v) out[v] = std::clamp(-velocity[v].dot(normals[v]), -limit, limit);
}

}  // namespace meniscus::fluids
