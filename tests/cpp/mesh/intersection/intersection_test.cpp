// Tests of the intersection of elements on grids of integers, against the theorem of separating axes, in integers.
#include "meniscus/mesh/intersection/intersection.hpp"

#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace meniscus;

namespace {

using Axis = std::array<std::int64_t, 3>;
using Hull = std::vector<Axis>;

Axis minus(const Axis& a, const Axis& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Axis cross(const Axis& a, const Axis& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
std::int64_t dot(const Axis& a, const Axis& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

bool separates(const Axis& axis, const Hull& p, const Hull& q) {
  std::int64_t p_low = dot(axis, p[0]), p_high = p_low, q_low = dot(axis, q[0]), q_high = q_low;
  for (const Axis& x : p) {
    p_low = std::min(p_low, dot(axis, x));
    p_high = std::max(p_high, dot(axis, x));
  }
  for (const Axis& x : q) {
    q_low = std::min(q_low, dot(axis, x));
    q_high = std::max(q_high, dot(axis, x));
  }
  return p_low > q_high || q_low > p_high;
}

/// Closed convex hulls are apart where 0 is not in the hull of their differences. If that has a volume, one of its faces is
/// perpendicular to two edges; if it is flat, its plane or a side within it tells; if it is a segment or a point, what is
/// perpendicular to it, or its direction.
bool hulls_meet(const Hull& p, const Hull& q) {
  std::vector<Axis> edges;
  for (const Hull& h : {p, q})
    for (std::size_t i = 0; i < h.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) edges.push_back(minus(h[i], h[j]));
  const Axis r = minus(p[0], q[0]);
  if (separates(r, p, q)) return false;
  for (const Axis& d : edges) {
    if (separates(d, p, q) || separates(cross(d, cross(r, d)), p, q)) return false;
    for (const Axis& e : edges) {
      const Axis n = cross(d, e);
      if (separates(n, p, q) || separates(cross(n, d), p, q)) return false;
    }
  }
  return true;
}

mesh::Point to_point(const Axis& x, double scale, const mesh::Point& shift) {
  return scale * (mesh::Point(static_cast<double>(x[0]), static_cast<double>(x[1]), static_cast<double>(x[2])) + shift);
}

}  // namespace

TEST_CASE("edges, triangles and tetrahedra on grids") {
  int edge_hits = 0;
  int triangle_hits = 0;
  for (std::uint64_t n = 0; n < 100000; ++n) {
    const CounterRandom random(5, n, 0);
    const auto size = static_cast<std::uint32_t>(1 + n % 6);
    Hull x(6);
    for (std::uint32_t k = 0; k < 6; ++k) {
      const Philox4 w = random.words(k);
      for (std::size_t d = 0; d < 3; ++d) x[k][d] = static_cast<std::int64_t>(w[d] % (2 * size + 1)) - size;
      if (w[3] % 13 == 0 && k > 0) x[k] = x[w[3] / 13 % k];
      if (w[3] % 5 == 1) x[k][2] = n % 2 ? 0 : x[k][0] - x[k][1];  // into one plane, level or tilted
    }
    // Away from the origin and in units that make the coordinates as long as doubles can be.
    const double scale = n % 3 == 0 ? 0x1p-1040 : n % 3 == 1 ? 1.0 : 0x1p960;
    const mesh::Point shift = n % 4 == 0 ? mesh::Point(0x1p50, -0x1p49, 12345) : mesh::Point::Zero();
    std::array<mesh::Point, 6> y;
    for (std::size_t k = 0; k < 6; ++k) y[k] = to_point(x[k], scale, shift);
    const auto counts = mesh::DegenerateContact::counts;
    const bool edge = hulls_meet({x[0], x[1]}, {x[2], x[3], x[4]});
    const bool triangle = hulls_meet({x[0], x[1], x[2]}, {x[3], x[4], x[5]});
    const bool inside = hulls_meet({x[0]}, {x[1], x[2], x[3], x[4]});
    edge_hits += edge;
    triangle_hits += triangle;
    REQUIRE(mesh::edge_meets_triangle(y[0], y[1], y[2], y[3], y[4], counts) == edge);
    REQUIRE(mesh::triangle_meets_triangle(y[0], y[1], y[2], y[3], y[4], y[5], counts) == triangle);
    REQUIRE((mesh::point_in_tetrahedron(y[0], y[1], y[2], y[3], y[4]) != mesh::Containment::outside) == inside);
    REQUIRE(mesh::segments_meet(y[0], y[1], y[2], y[3]) == hulls_meet({x[0], x[1]}, {x[2], x[3]}));
    REQUIRE(mesh::point_on_triangle(y[0], y[1], y[2], y[3]) == hulls_meet({x[0]}, {x[1], x[2], x[3]}));
  }
  CHECK(edge_hits > 10000);
  CHECK(triangle_hits > 20000);
}
