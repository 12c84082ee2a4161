#include "meniscus/fluids/voronoi/surface_hits.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/predicates.hpp"

namespace meniscus::fluids {
namespace {

using mesh::Point;
using numerics::orient3d;

/// Parts of a way that differ by less are where it goes through an edge.
constexpr double same_place = 1e-12;

/// The side of a line through a and b, seen from above, on which p lies if it is moved by infinitely little, first along x.
int side_of_line(const Point& a, const Point& b, const Point& p) {
  if (const int s = numerics::orient2d(a[0], a[1], b[0], b[1], p[0], p[1]); s != 0) return s;
  if (a[1] != b[1]) return a[1] > b[1] ? 1 : -1;
  return a[0] == b[0] ? 0 : b[0] > a[0] ? 1 : -1;
}

bool is_above(const std::array<Point, 3>& t, const Point& p) {
  const int first = side_of_line(t[0], t[1], p);
  if (first == 0 || side_of_line(t[1], t[2], p) != first || side_of_line(t[2], t[0], p) != first) return false;
  return orient3d(t[0], t[1], t[2], p) * first < 0;
}

}  // namespace

SurfaceHits::SurfaceHits(const mesh::TriangleMeshView& surface)
    : vertices_(surface.vertices.begin(), surface.vertices.end()),
      triangles_(surface.triangles.begin(), surface.triangles.end()),
      tree_(mesh::TriangleMeshView{vertices_, triangles_}) {}

bool SurfaceHits::inside(const Point& p) const {
  bool odd = false;
  tree_.volumes().traverse(
      [&](std::int32_t, const auto& node) {
        const mesh::Box& box = node.box;
        return box.low[0] <= p[0] && p[0] <= box.high[0] && box.low[1] <= p[1] && p[1] <= box.high[1] && p[2] <= box.high[2];
      },
      [&](const auto& leaf) {
        for (std::int32_t s = leaf.first; s < leaf.first + leaf.count; ++s) odd ^= is_above(tree_.corners(s), p);
      });
  return odd;
}

void SurfaceHits::inside(std::span<const Point> points, std::span<std::uint8_t> out) const {
  parallel_for(0, std::ssize(points), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) out[i] = inside(points[i]);
  });
}

void SurfaceHits::cross(const Point& a, const Point& b, std::vector<SurfaceHit>& out, std::int32_t except) const {
  out.clear();
  mesh::Box way;
  way.add(a);
  way.add(b);
  tree_.volumes().traverse([&](std::int32_t, const auto& node) { return node.box.overlaps(way); },
                           [&](const auto& leaf) {
                             for (std::int32_t s = leaf.first; s < leaf.first + leaf.count; ++s) {
                               const std::int32_t t = tree_.triangle(s);
                               const mesh::Triangle& c = triangles_[t];
                               if (c[0] == except || c[1] == except || c[2] == except) continue;
                               const auto& [x, y, z] = tree_.corners(s);
                               if (orient3d(x, y, z, a) * orient3d(x, y, z, b) > 0) continue;
                               const int u = orient3d(a, b, x, y), v = orient3d(a, b, y, z), w = orient3d(a, b, z, x);
                               if ((u < 0 || v < 0 || w < 0) && (u > 0 || v > 0 || w > 0)) continue;
                               const Point normal = mesh::area_vector(x, y, z);
                               const double at_a = normal.dot(a - x), at_b = normal.dot(b - x);
                               if (at_a == at_b) continue;
                               SurfaceHit hit{std::clamp(at_a / (at_a - at_b), 0.0, 1.0), t, at_b > at_a, Point::Zero()};
                               const Point p = a + hit.part * (b - a);
                               const double all = normal.squaredNorm();
                               hit.barycentric[0] = std::clamp(mesh::area_vector(p, y, z).dot(normal) / all, 0.0, 1.0);
                               hit.barycentric[1] =
                                   std::clamp(mesh::area_vector(x, p, z).dot(normal) / all, 0.0, 1.0 - hit.barycentric[0]);
                               hit.barycentric[2] = 1 - hit.barycentric[0] - hit.barycentric[1];
                               out.push_back(hit);
                             }
                           });
  std::sort(out.begin(), out.end(), [](const SurfaceHit& l, const SurfaceHit& r) {
    return l.part != r.part ? l.part < r.part : l.triangle < r.triangle;
  });
  const auto same = [](const SurfaceHit& l, const SurfaceHit& r) { return r.part - l.part < same_place && l.leaves == r.leaves; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
}

bool SurfaceHits::near(const Point& p, double distance) const {
  std::int32_t hint = 0;
  return collision::within_distance(tree_, p, distance, hint);
}

}  // namespace meniscus::fluids
