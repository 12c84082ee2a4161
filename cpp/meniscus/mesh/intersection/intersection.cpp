#include "meniscus/mesh/intersection/intersection.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/predicates.hpp"

#include <algorithm>
#include <utility>

namespace meniscus::mesh {
namespace {

/// The plane of two coordinates that is left when one is dropped, in cyclic order.
struct Projection {
  int x;
  int y;
  int orient(const Point& a, const Point& b, const Point& c) const {
    return numerics::orient2d(a[x], a[y], b[x], b[y], c[x], c[y]);
  }
};
constexpr std::array<Projection, 3> projections{{{1, 2}, {2, 0}, {0, 1}}};

bool overlap(double a, double b, double c, double d) {
  return std::max(a, b) >= std::min(c, d) && std::max(c, d) >= std::min(a, b);
}

/// Closed segments in the plane, which may be points. Only where all four points are on one line all signs are zero.
bool projections_meet(const Projection& plane, const Point& p, const Point& q, const Point& r, const Point& s) {
  if (!overlap(p[plane.x], q[plane.x], r[plane.x], s[plane.x]) || !overlap(p[plane.y], q[plane.y], r[plane.y], s[plane.y]))
    return false;
  return plane.orient(p, q, r) * plane.orient(p, q, s) <= 0 && plane.orient(r, s, p) * plane.orient(r, s, q) <= 0;
}

/// p in the closed triangle abc of the plane, which has an area.
bool point_in_triangle(const Projection& plane, const Point& p, const Point& a, const Point& b, const Point& c) {
  const int s = plane.orient(a, b, p);
  const int t = plane.orient(b, c, p);
  if (s * t < 0) return false;
  const int u = plane.orient(c, a, p);
  return s * u >= 0 && t * u >= 0;
}

/// A projection in which the triangle has an area: then it keeps the points of its plane apart. Null for a triangle on a line.
const Projection* projection_with_area(const Point& a, const Point& b, const Point& c) {
  for (const Projection& plane : projections)
    if (plane.orient(a, b, c) != 0) return &plane;
  return nullptr;
}

/// Ends in the plane of the triangle, or a triangle that has no plane.
bool meets_in_plane(const Point& p, const Point& q, const Point& a, const Point& b, const Point& c) {
  const Projection* plane = projection_with_area(a, b, c);
  if (!plane) return segments_meet(p, q, a, b) || segments_meet(p, q, b, c) || segments_meet(p, q, c, a);
  return point_in_triangle(*plane, p, a, b, c) || point_in_triangle(*plane, q, a, b, c) || projections_meet(*plane, p, q, a, b) ||
         projections_meet(*plane, p, q, b, c) || projections_meet(*plane, p, q, c, a);
}

/// Whether the line from p to q, which crosses the plane of the triangle in one point, meets the closed, or open, triangle.
bool line_meets_triangle(const Point& p, const Point& q, const Point& a, const Point& b, const Point& c, bool closed) {
  const int s = numerics::orient3d(p, q, a, b);
  if (!closed && s == 0) return false;
  const int t = numerics::orient3d(p, q, b, c);
  if (closed ? s * t < 0 : s * t <= 0) return false;
  const int u = numerics::orient3d(p, q, c, a);
  return closed ? s * u >= 0 && t * u >= 0 : s * u > 0;
}

template <std::size_t M, std::size_t N>
bool boxes_overlap(const std::array<const Point*, M>& a, const std::array<const Point*, N>& b) {
  for (int k = 0; k < 3; ++k) {
    double a_low = (*a[0])[k], a_high = a_low, b_low = (*b[0])[k], b_high = b_low;
    for (std::size_t i = 1; i < M; ++i) {
      a_low = std::min(a_low, (*a[i])[k]);
      a_high = std::max(a_high, (*a[i])[k]);
    }
    for (std::size_t i = 1; i < N; ++i) {
      b_low = std::min(b_low, (*b[i])[k]);
      b_high = std::max(b_high, (*b[i])[k]);
    }
    if (a_low > b_high || b_low > a_high) return false;
  }
  return true;
}

/// The corners of a triangle and on which side of the other triangle's plane each of them lies.
struct Sides {
  std::array<const Point*, 3> corner;
  std::array<int, 3> side;

  Sides(const Point& a, const Point& b, const Point& c, const Point& u, const Point& v, const Point& w)
      : corner{&u, &v, &w},
        side{numerics::orient3d(a, b, c, u), numerics::orient3d(a, b, c, v), numerics::orient3d(a, b, c, w)} {}
  bool on_one_side() const { return side[0] != 0 && side[0] == side[1] && side[1] == side[2]; }
  bool in_plane() const { return side[0] == 0 && side[1] == 0 && side[2] == 0; }
  const Point& operator[](std::size_t k) const { return *corner[k]; }

  /// Turns the corners until the first is the only one on its side of the plane, or on it.
  void put_lone_corner_first() {
    const int sum = side[0] + side[1] + side[2];
    // With signs (+ + -) the lone one is -, with (+ 0 0) it is +, with (+ + 0) and (+ 0 -) it is 0 or either of the others.
    const int lone = sum == 0 ? 1 : sum == 2 || sum == -2 ? 0 : side[0] * side[1] * side[2] != 0 ? -sum : sum;
    const std::size_t k = side[0] == lone ? 0 : side[1] == lone ? 1 : 2;
    std::rotate(corner.begin(), corner.begin() + static_cast<std::ptrdiff_t>(k), corner.end());
    std::rotate(side.begin(), side.begin() + static_cast<std::ptrdiff_t>(k), side.end());
  }
  void reverse() {
    std::swap(corner[1], corner[2]);
    std::swap(side[1], side[2]);
  }
};

/// Triangles in one plane, or of which one is on a line.
bool triangles_meet_in_plane(const Sides& first, const Sides& second) {
  const Projection* plane = projection_with_area(first[0], first[1], first[2]);
  const bool second_has_area = projection_with_area(second[0], second[1], second[2]) != nullptr;
  if (!plane || !second_has_area) {
    // A triangle on a line consists of edges only.
    const Sides& edges = plane ? second : first;
    const Sides& face = plane ? first : second;
    for (std::size_t k = 0; k < 3; ++k)
      if (edge_meets_triangle(edges[k], edges[(k + 1) % 3], face[0], face[1], face[2], DegenerateContact::counts)) return true;
    return false;
  }
  if (point_in_triangle(*plane, first[0], second[0], second[1], second[2]) ||
      point_in_triangle(*plane, second[0], first[0], first[1], first[2]))
    return true;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      if (projections_meet(*plane, first[i], first[(i + 1) % 3], second[j], second[(j + 1) % 3])) return true;
  return false;
}

bool crosses_any(const Sides& edges, const Point& a, const Point& b, const Point& c) {
  for (std::size_t k = 0; k < 3; ++k)
    if (edges.side[k] * edges.side[(k + 1) % 3] < 0 && line_meets_triangle(edges[k], edges[(k + 1) % 3], a, b, c, false))
      return true;
  return false;
}

}  // namespace

bool segments_meet(const Point& p, const Point& q, const Point& r, const Point& s) {
  if (!boxes_overlap<2, 2>({&p, &q}, {&r, &s}) || numerics::orient3d(p, q, r, s) != 0) return false;
  // In one plane. At least one projection keeps the points of the plane, or of the line, apart.
  return projections_meet(projections[0], p, q, r, s) && projections_meet(projections[1], p, q, r, s) &&
         projections_meet(projections[2], p, q, r, s);
}

bool point_on_triangle(const Point& p, const Point& a, const Point& b, const Point& c) {
  return edge_meets_triangle(p, p, a, b, c, DegenerateContact::counts);
}

bool edge_meets_triangle(const Point& p, const Point& q, const Point& a, const Point& b, const Point& c,
                         DegenerateContact policy) {
  if (!boxes_overlap<2, 3>({&p, &q}, {&a, &b, &c})) return false;
  const int sp = numerics::orient3d(a, b, c, p);
  const int sq = numerics::orient3d(a, b, c, q);
  if (policy == DegenerateContact::does_not_count) return sp * sq < 0 && line_meets_triangle(p, q, a, b, c, false);
  if (sp * sq > 0) return false;
  if (sp == 0 && sq == 0) return meets_in_plane(p, q, a, b, c);
  return line_meets_triangle(p, q, a, b, c, true);
}

bool triangle_meets_triangle(const Point& a, const Point& b, const Point& c, const Point& u, const Point& v, const Point& w,
                             DegenerateContact policy) {
  if (!boxes_overlap<3, 3>({&a, &b, &c}, {&u, &v, &w})) return false;
  Sides second(a, b, c, u, v, w);
  if (second.on_one_side()) return false;
  Sides first(u, v, w, a, b, c);
  if (first.on_one_side()) return false;
  if (policy == DegenerateContact::does_not_count) return crosses_any(first, u, v, w) || crosses_any(second, a, b, c);
  if (first.in_plane() || second.in_plane()) return triangles_meet_in_plane(first, second);
  // Both triangles cut the line in which the planes meet, each in an interval between the two edges at its lone corner. With the
  // lone corners on the positive sides, two signs tell whether the intervals overlap.
  first.put_lone_corner_first();
  second.put_lone_corner_first();
  const auto above = [](const Sides& s) { return s.side[0] > 0 || (s.side[0] == 0 && s.side[1] < 0); };
  if (!above(first)) second.reverse();
  if (!above(second)) first.reverse();
  return numerics::orient3d(first[0], first[1], second[0], second[1]) <= 0 &&
         numerics::orient3d(first[0], first[2], second[2], second[0]) <= 0;
}

Containment point_in_tetrahedron(const Point& p, const Point& a, const Point& b, const Point& c, const Point& d) {
  if (!boxes_overlap<1, 4>({&p}, {&a, &b, &c, &d})) return Containment::outside;
  const int volume = numerics::orient3d(a, b, c, d);
  if (volume == 0) {
    const bool on = point_on_triangle(p, a, b, c) || point_on_triangle(p, a, b, d) || point_on_triangle(p, a, c, d) ||
                    point_on_triangle(p, b, c, d);
    return on ? Containment::boundary : Containment::outside;
  }
  int least = 1;
  for (const int side : {numerics::orient3d(a, b, c, p), numerics::orient3d(a, d, b, p), numerics::orient3d(b, d, c, p),
                         numerics::orient3d(c, d, a, p)})
    least = std::min(least, side * volume);
  return static_cast<Containment>(least);
}

void edges_meet_triangles(std::span<const std::array<Point, 2>> edges, std::span<const std::array<Point, 3>> triangles,
                          DegenerateContact policy, bool* out) {
  require(edges.size() == triangles.size(), "there must be as many triangles as edges, not ", triangles.size(), " and ",
          edges.size());
  parallel_for(0, static_cast<Index>(edges.size()), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto& [p, q] = edges[i];
      const auto& [a, b, c] = triangles[i];
      out[i] = edge_meets_triangle(p, q, a, b, c, policy);
    }
  });
}

void triangles_meet_triangles(std::span<const std::array<Point, 3>> a, std::span<const std::array<Point, 3>> b,
                              DegenerateContact policy, bool* out) {
  require(a.size() == b.size(), "there must be as many second triangles as first ones, not ", b.size(), " and ", a.size());
  parallel_for(0, static_cast<Index>(a.size()), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      out[i] = triangle_meets_triangle(a[i][0], a[i][1], a[i][2], b[i][0], b[i][1], b[i][2], policy);
  });
}

void points_in_tetrahedra(std::span<const Point> points, std::span<const std::array<Point, 4>> tetrahedra, std::int8_t* out) {
  require(points.size() == tetrahedra.size(), "there must be as many tetrahedra as points, not ", tetrahedra.size(), " and ",
          points.size());
  parallel_for(0, static_cast<Index>(points.size()), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto& [a, b, c, d] = tetrahedra[i];
      out[i] = static_cast<std::int8_t>(point_in_tetrahedron(points[i], a, b, c, d));
    }
  });
}

}  // namespace meniscus::mesh
