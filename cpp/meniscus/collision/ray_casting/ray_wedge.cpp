#include "meniscus/collision/ray_casting/ray_wedge.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"

#include <cmath>

namespace meniscus::collision {
namespace {

/// Directions shorter than this prove nothing: their products could underflow.
constexpr double shortest_axis = 1e-100;

struct Interval {
  double low, high;
};

Interval of_three(double x, double y, double z) { return {std::min({x, y, z}), std::max({x, y, z})}; }

/// Whether the projections onto an axis prove a gap of more than `reach` between the triangle and the segment a, b.
bool separated(const WedgeTriangle& w, const mesh::Point& a, const mesh::Point& b, const mesh::Point& axis, double reach) {
  const mesh::Point& o = w.corner[0];
  const Interval t = of_three(0, axis.dot(w.corner[1] - o), axis.dot(w.corner[2] - o));
  const double p = axis.dot(a - o);
  const double q = axis.dot(b - o);
  const double gap = std::max(std::min(p, q) - t.high, t.low - std::max(p, q));
  if (!(gap > 0)) return false;
  const double length = axis.norm();
  return length > shortest_axis && gap > reach * length;
}

/// A pair of closest points: what separates two convex bodies best is the way from one to the other.
struct Nearest {
  mesh::Point on_segment, on_triangle;
  double square = std::numeric_limits<double>::infinity();

  void offer(const mesh::Point& s, const mesh::Point& t) {
    const double d2 = (s - t).squaredNorm();
    if (!(d2 < square)) return;
    on_segment = s;
    on_triangle = t;
    square = d2;
  }
  mesh::Point axis() const { return on_segment - on_triangle; }
};

/// Parameter s in [0, 1] at which the segment a + s d is closest to x.
double nearest_parameter(const mesh::Point& a, const mesh::Point& d, double d2, const mesh::Point& x) {
  return d2 > 0 ? std::clamp((x - a).dot(d) / d2, 0.0, 1.0) : 0.0;
}

Nearest nearest_of_segment(const WedgeTriangle& w, const mesh::Point& a, const mesh::Point& b) {
  Nearest best;
  for (const mesh::Point* x : {&a, &b})
    best.offer(*x, closest_point_on_triangle(*x, w.corner[0], w.corner[1], w.corner[2]).position);
  const mesh::Point d = b - a;
  const double d2 = d.squaredNorm();
  for (std::size_t k = 0; k < 3; ++k) {
    const mesh::Point& c = w.corner[k];
    best.offer(a + nearest_parameter(a, d, d2, c) * d, c);
    const mesh::Point e = w.corner[(k + 1) % 3] - c;
    const double e2 = e.squaredNorm();
    const double de = d.dot(e);
    const double area = d2 * e2 - de * de;
    if (!(area > 0)) continue;
    // The lines' closest points; then once more from line to line, which wipes out most of the round-off of nearly parallel ones.
    const mesh::Point r = a - c;
    double s = std::clamp((de * e.dot(r) - e2 * d.dot(r)) / area, 0.0, 1.0);
    const double t = nearest_parameter(c, e, e2, a + s * d);
    const mesh::Point on_edge = c + t * e;
    s = nearest_parameter(a, d, d2, on_edge);
    best.offer(a + s * d, on_edge);
  }
  return best;
}

/// The part of the segment a + t d within the slab of the face.
struct SlabPart {
  double from, to;
};

/// Ends of the segment at heights p and q; the slab reaches from `low` to `high`.
SlabPart slab_part(double p, double q, double low, double high) {
  double from = 0;
  double to = 1;
  const auto cut = [&](double height, double outside_at_a, double outside_at_b) {
    if (!(outside_at_a > 0) && !(outside_at_b > 0)) return;
    const double t = std::clamp((height - p) / (q - p), 0.0, 1.0);
    if (outside_at_a > 0) from = std::max(from, t);
    if (outside_at_b > 0) to = std::min(to, t);
  };
  cut(low, low - p, low - q);
  cut(high, p - high, q - high);
  return {from, std::max(from, to)};
}

/// Parameter t at which a + t d enters the ball around c, if it is in [0, limit); else `limit`.
double ball_entry(const mesh::Point& a, const mesh::Point& d, double d2, const mesh::Point& c, double radius, double limit) {
  if (!(d2 > 0)) return limit;
  const mesh::Point m = a - c;
  const double middle = -m.dot(d) / d2;
  const double square = radius * radius - (m + middle * d).squaredNorm();
  if (!(square >= 0)) return limit;
  const double t = middle - std::sqrt(square / d2);
  return t >= 0 && t < limit ? t : limit;
}

/// The same for the cylinder around the segment c + x e, 0 <= x <= 1.
double cylinder_entry(const mesh::Point& a, const mesh::Point& d, const mesh::Point& c, const mesh::Point& e, double radius,
                      double limit) {
  const double e2 = e.squaredNorm();
  if (!(e2 > 0)) return limit;
  const mesh::Point m = a - c;
  const double along_m = m.dot(e) / e2;
  const double along_d = d.dot(e) / e2;
  const double t =
      ball_entry(m - along_m * e, d - along_d * e, (d - along_d * e).squaredNorm(), mesh::Point::Zero(), radius, limit);
  const double x = along_m + t * along_d;
  return t < limit && x >= 0 && x <= 1 ? t : limit;
}

}  // namespace

WedgeTriangle WedgeTriangle::of(const mesh::Point& a, const mesh::Point& b, const mesh::Point& c) {
  WedgeTriangle w{{a, b, c}, mesh::Point::Zero(), 0, 0};
  if (!mesh::has_no_area(a, b, c)) {
    // Two edges that meet at the widest angle would do better for needles, but a direction that is a little off proves less,
    // never something false.
    const mesh::Point n = mesh::area_vector(a, b, c);
    const double length = n.norm();
    if (length > shortest_axis) w.normal = n / length;
  }
  const Interval h = of_three(0, w.normal.dot(b - a), w.normal.dot(c - a));
  w.low = h.low;
  w.high = h.high;
  return w;
}

mesh::Box WedgeTriangle::box() const {
  mesh::Box box;
  for (const mesh::Point& c : corner) box.add(c);
  return box;
}

bool point_in_wedge(const WedgeTriangle& w, const mesh::Point& p, const WedgeReach& reach) {
  // Most points lie beyond the planes.
  const double height = w.normal.dot(p - w.corner[0]);
  if (height - w.high > reach.point || w.low - height > reach.point) return false;
  const mesh::Box box = w.box();
  for (int d = 0; d < 3; ++d)
    if (p[d] - box.high[d] > reach.point || box.low[d] - p[d] > reach.point) return false;
  const mesh::Point axis = p - closest_point_on_triangle(p, w.corner[0], w.corner[1], w.corner[2]).position;
  return !separated(w, p, p, axis, reach.point);
}

bool segment_meets_wedge(const WedgeTriangle& w, const mesh::Point& from, const mesh::Point& to, const WedgeReach& reach) {
  const bool swapped = std::lexicographical_compare(to.data(), to.data() + 3, from.data(), from.data() + 3);
  const mesh::Point& a = swapped ? to : from;
  const mesh::Point& b = swapped ? from : to;
  const double r = reach.segment;
  const double p = w.normal.dot(a - w.corner[0]);
  const double q = w.normal.dot(b - w.corner[0]);
  if (std::min(p, q) - w.high > r || w.low - std::max(p, q) > r) return false;
  const mesh::Point low = a.cwiseMin(b);
  const mesh::Point high = a.cwiseMax(b);
  const mesh::Box box = w.box();
  for (int d = 0; d < 3; ++d)
    if (low[d] - box.high[d] > r || box.low[d] - high[d] > r) return false;

  // The part outside of the slab is clear. The rest is clear if it lies beyond one of the edges.
  const SlabPart part = slab_part(p, q, w.low - r, w.high + r);
  const mesh::Point d = b - a;
  const mesh::Point first = a + part.from * d;
  const mesh::Point last = part.to < 1 ? mesh::Point(a + part.to * d) : b;
  const mesh::Point middle = 0.5 * (first + last);
  bool above_all = w.normal.squaredNorm() > 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const mesh::Point outward = (w.corner[(k + 1) % 3] - w.corner[k]).cross(w.normal);
    if (separated(w, first, last, outward, r)) return false;
    above_all = above_all && outward.dot(middle - w.corner[k]) <= 0;
  }
  if (above_all) return true;
  // Near an edge, a corner, or without a face.
  return !separated(w, a, b, nearest_of_segment(w, a, b).axis(), r);
}

double wedge_entry(const WedgeTriangle& w, const mesh::Point& a, const mesh::Point& b, const WedgeReach& reach) {
  if (point_in_wedge(w, a, reach)) return 0;
  const double r = reach.point;
  const mesh::Point d = b - a;
  const double d2 = d.squaredNorm();
  constexpr double none = 2;
  double t = none;
  const double p = w.normal.dot(a - w.corner[0]);
  const double q = w.normal.dot(b - w.corner[0]);
  if (std::abs(p) > r && p != q && w.normal.squaredNorm() > 0) {
    const double s = ((p > 0 ? r : -r) - p) / (q - p);
    const mesh::Point x = a + s * d;
    bool above = s >= 0 && s <= 1;
    for (std::size_t k = 0; k < 3 && above; ++k)
      above = (w.corner[(k + 1) % 3] - w.corner[k]).cross(w.normal).dot(x - w.corner[k]) <= 0;
    if (above) t = s;
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const mesh::Point& c = w.corner[k];
    t = ball_entry(a, d, d2, c, r, t);
    t = cylinder_entry(a, d, c, w.corner[(k + 1) % 3] - c, r, t);
  }
  if (t <= 1) return t;
  // A graze: within the round-off of the radius.
  return nearest_parameter(a, d, d2, nearest_of_segment(w, a, b).on_segment);
}

}  // namespace meniscus::collision
