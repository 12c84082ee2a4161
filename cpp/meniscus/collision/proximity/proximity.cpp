#include "meniscus/collision/proximity/proximity.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <limits>
#include <optional>

namespace meniscus::collision {
namespace {

using Points = std::array<mesh::Point, 4>;

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// From here on differences, or sums of a few, are not safe.
constexpr double overflowing = 0x1p1000;

/// Greatest difference of two points in a coordinate.
double extent(const Points& x) {
  const mesh::Point low = x[0].cwiseMin(x[1]).cwiseMin(x[2].cwiseMin(x[3]));
  const mesh::Point high = x[0].cwiseMax(x[1]).cwiseMax(x[2].cwiseMax(x[3]));
  return (high - low).maxCoeff();
}

std::optional<mesh::Point> unit(const mesh::Point& v, double at_least) {
  const double largest = v.cwiseAbs().maxCoeff();
  if (!(largest > 0)) return std::nullopt;
  const mesh::Point scaled = v / largest;
  const double length = scaled.norm();
  if (!(largest * length > at_least)) return std::nullopt;
  return mesh::Point(scaled / length);
}

/// A direction across the face or across both edges, or nothing if to within round-off there is more than one, or none.
std::optional<mesh::Point> element_normal(PairKind kind, const Points& x, double tolerance) {
  const bool face = kind == PairKind::vertex_face;
  const mesh::Point a = face ? mesh::Point(x[2] - x[1]) : mesh::Point(x[1] - x[0]);
  const mesh::Point b = face ? mesh::Point(x[3] - x[1]) : mesh::Point(x[3] - x[2]);
  const auto a_unit = unit(a, 0);
  const auto b_unit = unit(b, 0);
  if (!a_unit || !b_unit) return std::nullopt;
  return unit(a_unit->cross(*b_unit), tolerance);
}

/// Perpendicular to the longest edge of the elements.
std::optional<mesh::Point> perpendicular(PairKind kind, const Points& x) {
  mesh::Point longest = x[3] - x[2];
  const auto offer = [&](const mesh::Point& edge) {
    if (edge.stableNorm() > longest.stableNorm()) longest = edge;
  };
  if (kind == PairKind::vertex_face) {
    offer(x[1] - x[3]);
    offer(x[2] - x[1]);
  } else {
    offer(x[1] - x[0]);
  }
  Index least = 0;
  longest.cwiseAbs().minCoeff(&least);
  return unit(longest.cross(mesh::Point::Unit(least)), 0);
}

/// The parameter in [0, 1] of the point of the segment from a along d that is closest to p.
double parameter_on(const mesh::Point& p, const mesh::Point& a, const mesh::Point& d, double length2) {
  return length2 > 0 ? std::clamp((p - a).dot(d) / length2, 0.0, 1.0) : 0.0;
}

/// Parameters of two edges and the vector between their points, squared.
struct EdgeParameters {
  double s;
  double t;
  double distance2;
};

/// Closest points of the edges x0 x1 and x2 x3. The distance is a convex function of the two parameters: if its minimum over the
/// two lines lies inside of both edges, it is what we look for; otherwise an end of one of the edges is closest. Where the lines
/// are nearly parallel the minimum over the lines is uncertain, and all candidates compete.
EdgeParameters closest_on_edges(const Points& x) {
  const mesh::Point a = x[1] - x[0];
  const mesh::Point b = x[3] - x[2];
  const mesh::Point r = x[0] - x[2];
  const double a2 = a.squaredNorm();
  const double b2 = b.squaredNorm();
  const mesh::Point normal = a.cross(b);
  const double n2 = normal.squaredNorm();
  EdgeParameters best{0, 0, std::numeric_limits<double>::infinity()};
  const auto offer = [&](double s, double t) {
    const double distance2 = (r + s * a - t * b).squaredNorm();
    if (distance2 < best.distance2) best = {s, t, distance2};
  };
  if (n2 > 0) {
    // By the cross product, which keeps what the difference of the products of lengths would cancel.
    double s = b.cross(r).dot(normal) / n2;
    double t = a.cross(r).dot(normal) / n2;
    if (s > 0 && s < 1 && t > 0 && t < 1) {
      // A step of refinement from there, where the vector between the points is short.
      const mesh::Point rest = r + s * a - t * b;
      const double ds = b.cross(rest).dot(normal) / n2;
      const double dt = a.cross(rest).dot(normal) / n2;
      s = std::clamp(s + ds, 0.0, 1.0);
      t = std::clamp(t + dt, 0.0, 1.0);
      offer(s, t);
      constexpr double parallel = 1e-4;
      if (n2 > parallel * a2 * b2) return best;
      t = parameter_on(x[0] + s * a, x[2], b, b2);
      offer(s, t);
    }
  }
  offer(0, parameter_on(x[0], x[2], b, b2));
  offer(1, parameter_on(x[1], x[2], b, b2));
  offer(parameter_on(x[2], x[0], a, a2), 0);
  offer(parameter_on(x[3], x[0], a, a2), 1);
  return best;
}

mesh::Point on_edge(const mesh::Point& a, const mesh::Point& b, double t) { return t == 1 ? b : mesh::Point(a + t * (b - a)); }

/// For coordinates whose squares and fourth powers are far from the limits of doubles.
ElementProximity scaled_proximity(PairKind kind, const Points& x) {
  ElementProximity r;
  mesh::Point between;
  if (kind == PairKind::vertex_face) {
    const TrianglePoint closest = closest_point_on_triangle(x[0], x[1], x[2], x[3]);
    const mesh::Point& w = closest.barycentric;
    r.weights = {1, -w[0], -w[1], -w[2]};
    r.first = x[0];
    r.second = closest.position;
    // From differences, whose round-off does not grow with the distance from the origin.
    between = w[0] * (x[0] - x[1]) + w[1] * (x[0] - x[2]) + w[2] * (x[0] - x[3]);
  } else {
    const EdgeParameters closest = closest_on_edges(x);
    r.weights = {1 - closest.s, closest.s, closest.t - 1, -closest.t};
    r.first = on_edge(x[0], x[1], closest.s);
    r.second = on_edge(x[2], x[3], closest.t);
    between = (x[0] - x[2]) + closest.s * (x[1] - x[0]) - closest.t * (x[3] - x[2]);
  }
  r.distance = between.norm();
  const double round_off = 4 * epsilon * extent(x);
  if (const auto n = unit(between, round_off)) {
    r.normal = *n;
  } else {
    const auto across = element_normal(kind, x, 64 * epsilon);
    const auto other = across ? across : perpendicular(kind, x);
    r.normal = other ? *other : mesh::Point::UnitY();
    if (r.normal.dot(between) < 0) r.normal = -r.normal;
  }
  return r;
}

}  // namespace

ElementProximity proximity(PairKind kind, const Points& stencil) {
  const double size = extent(stencil);
  if (size == 0 || (size > 0x1p-180 && size < 0x1p180)) return scaled_proximity(kind, stencil);
  double largest = 0;
  for (const mesh::Point& p : stencil) largest = std::max(largest, p.cwiseAbs().maxCoeff());
  const int exponent = size < overflowing ? std::max(std::ilogb(size), std::ilogb(largest) - 1000) : std::ilogb(largest);
  Points x = stencil;
  for (mesh::Point& p : x)
    for (double& c : p) c = std::ldexp(c, -exponent);
  ElementProximity r = scaled_proximity(kind, x);
  r.distance = std::ldexp(r.distance, exponent);
  for (mesh::Point* p : {&r.first, &r.second})
    for (double& c : *p) c = std::ldexp(c, exponent);
  return r;
}

ContactGeometry contact_geometry(PairKind kind, const Points& start, const Points& end) {
  double motion = 0;
  for (std::size_t i = 0; i < 4; ++i) motion = std::max(motion, (end[i] - start[i]).cwiseAbs().maxCoeff());
  const double size = std::max(extent(start), extent(end));
  if (!(std::max(motion, size) < overflowing)) {
    constexpr int exponent = 40;
    Points a = start;
    Points b = end;
    for (Points* x : {&a, &b})
      for (mesh::Point& p : *x) p *= std::ldexp(1.0, -exponent);
    ContactGeometry r = contact_geometry(kind, a, b);
    r.distance = std::ldexp(r.distance, exponent);
    r.normal_displacement = std::ldexp(r.normal_displacement, exponent);
    return r;
  }
  Points middle;
  for (std::size_t i = 0; i < 4; ++i) middle[i] = 0.5 * start[i] + 0.5 * end[i];
  const ElementProximity in_middle = proximity(kind, middle);
  ContactGeometry r;
  r.weights = in_middle.weights;
  r.distance = in_middle.distance;
  const double touching = contact_tolerance * size;
  const auto weighted = [&](const Points& x) {
    // The weights of an element have sum 1, so this is a sum of differences.
    mesh::Point sum = mesh::Point::Zero();
    for (std::size_t i = 1; i < 4; ++i) sum += r.weights[i] * (x[i] - x[0]);
    return sum;
  };
  const auto choose = [&](const std::optional<mesh::Point>& n, NormalSource source, bool oriented) {
    if (!n) return false;
    r.normal = oriented && n->dot(weighted(start)) < 0 ? mesh::Point(-*n) : *n;
    r.source = source;
    return true;
  };
  const auto direction = [&](const Points& x) -> std::optional<mesh::Point> {
    const ElementProximity p = proximity(kind, x);
    if (!(p.distance > touching)) return std::nullopt;
    return p.normal;
  };
  if (in_middle.distance > touching) {
    choose(in_middle.normal, NormalSource::middle, false);
  } else if (!choose(direction(end), NormalSource::end, false) &&
             !choose(element_normal(kind, start, contact_tolerance), NormalSource::element, true) &&
             !choose(direction(start), NormalSource::start, true) &&
             !choose(perpendicular(kind, start), NormalSource::perpendicular, true)) {
    choose(mesh::Point::UnitY(), NormalSource::axis, true);
  }
  mesh::Point displacement = mesh::Point::Zero();
  for (std::size_t i = 0; i < 4; ++i) displacement += r.weights[i] * (end[i] - start[i]);
  r.normal_displacement = r.normal.dot(displacement);
  return r;
}

namespace {

template <class Stencil>
void fill(std::size_t n, const ProximityArrays& out, PairKind kind, Stencil&& stencil) {
  parallel_for(0, static_cast<Index>(n), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const ElementProximity r = proximity(kind, stencil(i));
      out.distance[i] = r.distance;
      out.weights[i] = r.weights;
      out.first[i] = r.first;
      out.second[i] = r.second;
      out.normal[i] = r.normal;
    }
  });
}

}  // namespace

void point_triangle_proximities(std::span<const mesh::Point> points, std::span<const std::array<mesh::Point, 3>> triangles,
                                const ProximityArrays& out) {
  require(points.size() == triangles.size(), "there must be as many triangles as points, not ", triangles.size(), " and ",
          points.size());
  fill(points.size(), out, PairKind::vertex_face,
       [&](std::size_t i) { return Points{points[i], triangles[i][0], triangles[i][1], triangles[i][2]}; });
}

void edge_edge_proximities(std::span<const std::array<mesh::Point, 2>> first, std::span<const std::array<mesh::Point, 2>> second,
                           const ProximityArrays& out) {
  require(first.size() == second.size(), "there must be as many second edges as first ones, not ", second.size(), " and ",
          first.size());
  fill(first.size(), out, PairKind::edge_edge,
       [&](std::size_t i) { return Points{first[i][0], first[i][1], second[i][0], second[i][1]}; });
}

void contact_geometries(PairKind kind, std::span<const Points> start, std::span<const Points> end, const ContactArrays& out) {
  require(start.size() == end.size(), "there must be as many end positions as start positions, not ", end.size(), " and ",
          start.size());
  parallel_for(0, static_cast<Index>(start.size()), 256, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const ContactGeometry r = contact_geometry(kind, start[i], end[i]);
      out.weights[i] = r.weights;
      out.distance[i] = r.distance;
      out.normal[i] = r.normal;
      out.normal_displacement[i] = r.normal_displacement;
      out.source[i] = static_cast<std::int8_t>(r.source);
    }
  });
}

}  // namespace meniscus::collision
