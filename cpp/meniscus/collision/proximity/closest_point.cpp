#include "meniscus/collision/proximity/closest_point.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::collision {
namespace {

TrianglePoint on_corner(const mesh::Point& p, const mesh::Point& corner, int k) {
  return {corner, mesh::Point::Unit(k), (p - corner).squaredNorm(), static_cast<TriangleFeature>(k)};
}

/// The point of edge k (from corner k to corner k + 1) at parameter t in [0, 1].
TrianglePoint on_closest_edge(const mesh::Point& p, const mesh::Point& from, const mesh::Point& to, int k, double t) {
  if (!(t > 0)) return on_corner(p, from, k);
  if (!(t < 1)) return on_corner(p, to, (k + 1) % 3);
  TrianglePoint r;
  r.position = from + t * (to - from);
  r.barycentric.setZero();
  r.barycentric[k] = 1 - t;
  r.barycentric[(k + 1) % 3] = t;
  r.squared_distance = (p - r.position).squaredNorm();
  r.feature = static_cast<TriangleFeature>(3 + k);
  return r;
}

/// The point a + v (b - a) + w (c - a) inside the face.
TrianglePoint on_face(const mesh::Point& p, const mesh::Point& a, const mesh::Point& ab, const mesh::Point& ac, double v,
                      double w) {
  TrianglePoint r;
  r.position = a + v * ab + w * ac;
  r.barycentric = {std::max(1 - v - w, 0.0), v, w};
  r.squared_distance = (p - r.position).squaredNorm();
  r.feature = TriangleFeature::face;
  return r;
}

TrianglePoint on_closest_of_edges(const mesh::Point& p, const mesh::Point& a, const mesh::Point& b, const mesh::Point& c) {
  const std::array<const mesh::Point*, 4> corner{&a, &b, &c, &a};
  TrianglePoint best;
  best.squared_distance = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 3; ++k) {
    const mesh::Point& from = *corner[k];
    const mesh::Point& to = *corner[static_cast<std::size_t>(k) + 1];
    const double length2 = (to - from).squaredNorm();
    const TrianglePoint r = on_closest_edge(p, from, to, k, length2 > 0 ? (p - from).dot(to - from) / length2 : 0.0);
    if (r.squared_distance < best.squared_distance) best = r;
  }
  return best;
}

/// In a thin triangle the products that tell the regions apart cancel. Here the face is measured in coordinates along the longest
/// edge and across, and competes with the three edges. Round-off tilts the direction across by its part of the thinness, which
/// moves the point by less than its own round-off or, far from the plane, changes the distance in second order only.
TrianglePoint closest_point_on_thin_triangle(const mesh::Point& p, const mesh::Point& a, const mesh::Point& b,
                                             const mesh::Point& c) {
  TrianglePoint best = on_closest_of_edges(p, a, b, c);
  const std::array<const mesh::Point*, 3> corner{&a, &b, &c};
  std::size_t longest = 0;
  double length2 = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double edge2 = (*corner[(k + 1) % 3] - *corner[k]).squaredNorm();
    if (edge2 > length2) {
      length2 = edge2;
      longest = k;
    }
  }
  if (!(length2 > 0)) return best;
  const mesh::Point& from = *corner[longest];
  const mesh::Point along = *corner[(longest + 1) % 3] - from;
  const mesh::Point to_apex = *corner[(longest + 2) % 3] - from;
  double foot = to_apex.dot(along) / length2;
  mesh::Point height = to_apex - foot * along;
  // Once more, because the first subtraction leaves round-off along the edge.
  const double rest = height.dot(along) / length2;
  foot += rest;
  height -= rest * along;
  const double height2 = height.squaredNorm();
  if (!(height2 > 0)) return best;
  const mesh::Point r = p - from;
  const double x = r.dot(along) / length2;
  const double apex = (r - x * along).dot(height) / height2;
  const double end = x - apex * foot;
  if (!(apex > 0 && end > 0 && apex + end < 1)) return best;
  TrianglePoint face;
  face.barycentric[static_cast<Index>(longest)] = 1 - apex - end;
  face.barycentric[static_cast<Index>((longest + 1) % 3)] = end;
  face.barycentric[static_cast<Index>((longest + 2) % 3)] = apex;
  face.position = from + end * along + apex * to_apex;
  face.squared_distance = (p - face.position).squaredNorm();
  face.feature = TriangleFeature::face;
  return face.squared_distance < best.squared_distance ? face : best;
}

/// Below this square of the sine of the angle at the first corner a triangle counts as thin: round-off of the regions grows with
/// its inverse.
constexpr double thin = 0.02;

}  // namespace

TrianglePoint closest_point_on_triangle(const mesh::Point& p, const mesh::Point& a, const mesh::Point& b, const mesh::Point& c) {
  const mesh::Point ab = b - a;
  const mesh::Point ac = c - a;
  if (!(ab.cross(ac).squaredNorm() > thin * ab.squaredNorm() * ac.squaredNorm()))
    return closest_point_on_thin_triangle(p, a, b, c);
  const mesh::Point ap = p - a;
  const double d1 = ab.dot(ap);
  const double d2 = ac.dot(ap);
  if (d1 <= 0 && d2 <= 0) return on_corner(p, a, 0);
  const mesh::Point bp = p - b;
  const double d3 = ab.dot(bp);
  const double d4 = ac.dot(bp);
  if (d3 >= 0 && d4 <= d3) return on_corner(p, b, 1);
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return on_closest_edge(p, a, b, 0, d1 / (d1 - d3));
  const mesh::Point cp = p - c;
  const double d5 = ab.dot(cp);
  const double d6 = ac.dot(cp);
  if (d6 >= 0 && d5 <= d6) return on_corner(p, c, 2);
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return on_closest_edge(p, c, a, 2, 1 - d2 / (d2 - d6));
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 >= d3 && d5 >= d6) return on_closest_edge(p, b, c, 1, (d4 - d3) / ((d4 - d3) + (d5 - d6)));
  const double scale = 1 / (va + vb + vc);
  return on_face(p, a, ab, ac, vb * scale, vc * scale);
}

MeshPoint closest_point(const mesh::TriangleTree& tree, const mesh::Point& p, std::int32_t hint) {
  // Boxes and triangles are measured with different round-off, so boxes a little beyond the best distance are visited too: then
  // the result is the minimum over all triangles, whatever the order of the visits.
  const double round_off =
      64 * std::numeric_limits<double>::epsilon() * std::max(tree.largest_coordinate(), p.cwiseAbs().maxCoeff());
  MeshPoint best;
  best.squared_distance = std::numeric_limits<double>::infinity();
  best.triangle = std::numeric_limits<std::int32_t>::max();  // so that the first triangle is taken even where distances overflow
  double limit = best.squared_distance;
  const auto visit = [&](std::int32_t slot) {
    const auto& [a, b, c] = tree.corners(slot);
    const TrianglePoint r = closest_point_on_triangle(p, a, b, c);
    const std::int32_t triangle = tree.triangle(slot);
    if (r.squared_distance > best.squared_distance || (r.squared_distance == best.squared_distance && triangle >= best.triangle))
      return;
    static_cast<TrianglePoint&>(best) = r;
    best.triangle = triangle;
    best.slot = slot;
    const double reach = std::sqrt(r.squared_distance) + round_off;
    limit = reach * reach;
  };
  visit(hint);
  tree.volumes().traverse_nearest(
      limit, [&](const mesh::Box& box) { return mesh::squared_distance(box, p); },
      [&](const mesh::BoundingVolumeTree::Node& n) {
        for (std::int32_t s = n.first; s < n.first + n.count; ++s) visit(s);
      });
  return best;
}

bool within_distance(const mesh::TriangleTree& tree, const mesh::Point& p, double radius, std::int32_t& slot) {
  double limit = radius * radius;
  const auto reaches = [&](std::int32_t s) {
    const auto& [a, b, c] = tree.corners(s);
    return closest_point_on_triangle(p, a, b, c).squared_distance <= radius * radius;
  };
  if (reaches(slot)) return true;
  bool found = false;
  tree.volumes().traverse_nearest(
      limit, [&](const mesh::Box& box) { return mesh::squared_distance(box, p); },
      [&](const mesh::BoundingVolumeTree::Node& n) {
        for (std::int32_t s = n.first; s < n.first + n.count && !found; ++s) {
          if (!reaches(s)) continue;
          slot = s;
          found = true;
          limit = -1;  // no box is this close
        }
      });
  return found;
}

void closest_points(const mesh::TriangleTree& tree, std::span<const mesh::Point> points, std::span<MeshPoint> out) {
  parallel_for(0, static_cast<Index>(points.size()), 256, [&](Index b, Index e) {
    std::int32_t hint = 0;
    for (Index i = b; i < e; ++i) {
      out[i] = closest_point(tree, points[i], hint);
      hint = out[i].slot;
    }
  });
}

void store_closest_points(std::span<const MeshPoint> points, const ClosestPointColumns& out) {
  parallel_for(0, static_cast<Index>(points.size()), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      out.distance[i] = std::sqrt(points[i].squared_distance);
      out.triangle[i] = points[i].triangle;
      std::copy_n(points[i].barycentric.data(), 3, out.barycentric + 3 * i);
      std::copy_n(points[i].position.data(), 3, out.position + 3 * i);
    }
  });
}

}  // namespace meniscus::collision
