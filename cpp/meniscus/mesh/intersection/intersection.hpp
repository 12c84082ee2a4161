/// Intersection of an edge and a triangle, or of two triangles. Exact for every finite double and for degenerate elements: edges
/// of no length, triangles that are a segment or a point, elements in one plane or on one line.
///
/// Because every sign is exact, the answers do not depend on the order of the corners or of the ends.
///
/// Sources: Brochu 2012, section 3.2.3 (edge and triangle); Guigue and Devillers, "Fast and robust triangle-triangle overlap test
/// using orientation predicates", 2003.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <span>

namespace meniscus::mesh {

/// Treatment of degenerate contact.
enum class DegenerateContact : std::int8_t {
  /// Elements are closed sets: any common point counts, also in a common plane, at an end, on a rim.
  counts,
  /// Only an edge that crosses a triangle counts: its ends lie strictly on both sides, and the crossing strictly inside.
  does_not_count,
};

/// Position of a point relative to a closed set with an inside.
enum class Containment : std::int8_t { outside = -1, boundary = 0, inside = 1 };

/// Edge pq and triangle abc.
bool edge_meets_triangle(const Point& p, const Point& q, const Point& a, const Point& b, const Point& c,
                         DegenerateContact policy);

/// Triangles abc and uvw. Where degenerate contact does not count, true if an edge of one crosses the other.
bool triangle_meets_triangle(const Point& a, const Point& b, const Point& c, const Point& u, const Point& v, const Point& w,
                             DegenerateContact policy);

/// Point p and the tetrahedron abcd of any orientation. A flat one is all boundary.
Containment point_in_tetrahedron(const Point& p, const Point& a, const Point& b, const Point& c, const Point& d);

/// Whether the closed segments pq and rs, which may be points, have a common point.
bool segments_meet(const Point& p, const Point& q, const Point& r, const Point& s);

/// Whether p lies on the closed triangle abc, which may be degenerate.
bool point_on_triangle(const Point& p, const Point& a, const Point& b, const Point& c);

/// The same for many, in parallel: out[i] is 1 if pair i intersects.
void edges_meet_triangles(std::span<const std::array<Point, 2>> edges, std::span<const std::array<Point, 3>> triangles,
                          DegenerateContact policy, bool* out);
void triangles_meet_triangles(std::span<const std::array<Point, 3>> a, std::span<const std::array<Point, 3>> b,
                              DegenerateContact policy, bool* out);
void points_in_tetrahedra(std::span<const Point> points, std::span<const std::array<Point, 4>> tetrahedra, std::int8_t* out);

}  // namespace meniscus::mesh
