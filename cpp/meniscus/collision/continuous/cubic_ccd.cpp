#include "meniscus/collision/continuous/cubic_ccd.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/core/floating_point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::collision {
namespace {

/// Round-off of a coefficient of the cubic in units where all differences are at most 1: at most 18 products, each with some
/// roundings.
constexpr double round_off = 0x1p-46;

/// Coefficients, constant first.
using Cubic = std::array<double, 4>;

double value(const Cubic& p, double t) { return ((p[3] * t + p[2]) * t + p[1]) * t + p[0]; }
double slope(const Cubic& p, double t) { return (3 * p[3] * t + 2 * p[2]) * t + p[1]; }

/// Times in [0, 1] to look at, in any order.
class Candidates {
 public:
  void add(double t) {
    if (t >= 0 && t <= 1) time_[size_++] = t;
  }
  std::span<double> sorted() {
    std::sort(time_.begin(), time_.begin() + size_);
    return {time_.data(), static_cast<std::size_t>(size_)};
  }

 private:
  // At most 7 of the cubic, 2 ends, 2 of each of 3 components of 4 quadratics, and 1 of each of 3 components of 4 differences.
  std::array<double, 45> time_;
  int size_ = 0;
};

/// Calls f with the real roots of c t^2 + b t + a, or with the place of its extremum where round-off hides a double root.
template <class F>
void for_quadratic_roots(double c, double b, double a, F&& f) {
  const double scale = std::max({std::abs(a), std::abs(b), std::abs(c)});
  if (!(scale > 0)) return;
  const double discriminant = b * b - 4 * a * c;
  if (discriminant < 0) {
    if (discriminant > -64 * std::numeric_limits<double>::epsilon() * scale * scale) f(-b / (2 * c));
    return;
  }
  const double q = -0.5 * (b + std::copysign(std::sqrt(discriminant), b));
  if (q != 0) f(a / q);
  if (c != 0) f(q / c);
}

/// The root between low and high, where p has opposite signs: Newton's method, with bisection where it leaves the bracket or is
/// slow.
double bracketed_root(const Cubic& p, double low, double high) {
  const bool rising = value(p, low) < 0;
  double t = 0.5 * (low + high);
  double step = high - low;
  for (int i = 0; i < 200; ++i) {
    const double v = value(p, t);
    if (v == 0) return t;
    ((v < 0) == rising ? low : high) = t;
    const double newton = t - v / slope(p, t);
    const bool inside = newton > low && newton < high;
    const double next = inside && std::abs(newton - t) < 0.5 * step ? newton : 0.5 * (low + high);
    step = std::abs(next - t);
    if (next == t || step <= 0x1p-54 * std::abs(t)) return next;
    t = next;
  }
  return t;
}

/// Roots of the cubic, and the ends of its monotonous pieces where it is not surely different from zero.
void add_cubic_roots(const Cubic& p, Candidates& out) {
  std::array<double, 4> ends{0, 1, 1, 1};
  std::size_t n = 1;
  for_quadratic_roots(3 * p[3], 2 * p[2], p[1], [&](double t) {
    if (t > 0 && t < 1) ends[n++] = t;
  });
  ends[n] = 1;
  if (n == 3 && ends[2] < ends[1]) std::swap(ends[1], ends[2]);
  for (std::size_t i = 0; i <= n; ++i) {
    const double at = value(p, ends[i]);
    if (std::abs(at) <= 4 * round_off) out.add(ends[i]);
    if (i < n && at * value(p, ends[i + 1]) < 0) out.add(bracketed_root(p, ends[i], ends[i + 1]));
  }
}

/// A vector that is linear in the time.
struct Moving {
  mesh::Point at_start;
  mesh::Point change;
  mesh::Point at(double t) const { return at_start + t * change; }
};

Moving between(const Moving& x, const Moving& y) { return {y.at_start - x.at_start, y.change - x.change}; }

Cubic coplanarity(const Moving& a, const Moving& b, const Moving& c) {
  const mesh::Point n0 = a.at_start.cross(b.at_start);
  const mesh::Point n1 = a.change.cross(b.at_start) + a.at_start.cross(b.change);
  const mesh::Point n2 = a.change.cross(b.change);
  return {n0.dot(c.at_start), n1.dot(c.at_start) + n0.dot(c.change), n2.dot(c.at_start) + n1.dot(c.change), n2.dot(c.change)};
}

/// Times at which point p is on the line through q and r, component by component of (p - q) x (r - q).
void add_alignments(const Moving& p, const Moving& q, const Moving& r, Candidates& out) {
  const Moving a = between(q, p);
  const Moving b = between(q, r);
  const mesh::Point n0 = a.at_start.cross(b.at_start);
  const mesh::Point n1 = a.change.cross(b.at_start) + a.at_start.cross(b.change);
  const mesh::Point n2 = a.change.cross(b.change);
  for (int d = 0; d < 3; ++d) for_quadratic_roots(n2[d], n1[d], n0[d], [&](double t) { out.add(t); });
}

/// Times at which two points meet, component by component: what is left where all points are on one line.
void add_meetings(const Moving& p, const Moving& q, Candidates& out) {
  const Moving d = between(p, q);
  for (int i = 0; i < 3; ++i)
    if (d.change[i] != 0) out.add(-d.at_start[i] / d.change[i]);
}

double squared_distance_to_segment(const mesh::Point& p, const mesh::Point& a, const mesh::Point& b) {
  const mesh::Point d = b - a;
  const double length2 = d.squaredNorm();
  const double t = length2 > 0 ? std::clamp((p - a).dot(d) / length2, 0.0, 1.0) : 0.0;
  return (p - a - t * d).squaredNorm();
}

double squared_distance_of_segments(const mesh::Point& p0, const mesh::Point& p1, const mesh::Point& q0, const mesh::Point& q1) {
  // Either an end of one is involved, or the distance is that of the lines.
  double best = std::min(std::min(squared_distance_to_segment(p0, q0, q1), squared_distance_to_segment(p1, q0, q1)),
                         std::min(squared_distance_to_segment(q0, p0, p1), squared_distance_to_segment(q1, p0, p1)));
  const mesh::Point a = p1 - p0;
  const mesh::Point b = q1 - q0;
  const mesh::Point c = q0 - p0;
  const mesh::Point n = a.cross(b);
  const double n2 = n.squaredNorm();
  // Of lines that are parallel up to round-off the crossing is noise, and the ends are as near as the segments.
  if (!(n2 > 0x1p-80 * a.squaredNorm() * b.squaredNorm())) return best;
  const double u = c.cross(b).dot(n);
  const double v = c.cross(a).dot(n);
  if (u >= 0 && u <= n2 && v >= 0 && v <= n2) {
    const double height = c.dot(n);
    best = std::min(best, height * height / n2);
  }
  return best;
}

/// The elements in units of their size, so that the tolerance has one meaning and nothing overflows.
class NormalizedPair {
 public:
  NormalizedPair(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end) : kind_(kind) {
    mesh::Point low = start[0];
    mesh::Point high = start[0];
    for (const auto& points : {start, end})
      for (const mesh::Point& p : points) {
        low = low.cwiseMin(p);
        high = high.cwiseMax(p);
      }
    double shrink = 1;
    double size = (high - low).maxCoeff();
    if (size == std::numeric_limits<double>::infinity()) {
      shrink = 0.25;
      size = (shrink * high - shrink * low).maxCoeff();
    }
    // In two factors, because the reciprocal of a subnormal number overflows.
    const double factor = size > 0 ? std::ldexp(1.0, -std::ilogb(size) / 2) : 1.0;
    const double rest = size > 0 ? 1 / (size * factor) : 1.0;
    for (std::size_t i = 0; i < 4; ++i) {
      const mesh::Point s = ((shrink * start[i] - shrink * low) * factor) * rest;
      const mesh::Point e = ((shrink * end[i] - shrink * low) * factor) * rest;
      x_[i] = {s, e - s};
    }
  }

  const Moving& operator[](std::size_t i) const { return x_[i]; }

  double squared_distance(double t) const {
    const std::array<mesh::Point, 4> p{x_[0].at(t), x_[1].at(t), x_[2].at(t), x_[3].at(t)};
    if (kind_ == PairKind::vertex_face) return closest_point_on_triangle(p[0], p[1], p[2], p[3]).squared_distance;
    return squared_distance_of_segments(p[0], p[1], p[2], p[3]);
  }

 private:
  PairKind kind_;
  std::array<Moving, 4> x_;
};

/// Whether the boxes of the moving elements are farther apart than a distance.
bool boxes_apart(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end, double tolerance) {
  const std::size_t split = kind == PairKind::vertex_face ? 1 : 2;
  const auto bounds = [&](std::size_t first, std::size_t last) {
    std::array<mesh::Point, 2> b{start[first], start[first]};
    for (std::size_t i = first; i < last; ++i) {
      b[0] = b[0].cwiseMin(start[i]).cwiseMin(end[i]);
      b[1] = b[1].cwiseMax(start[i]).cwiseMax(end[i]);
    }
    return b;
  };
  const auto p = bounds(0, split);
  const auto q = bounds(split, 4);
  // Where this overflows, the boxes do not count as apart.
  const double distance = tolerance * (p[1].cwiseMax(q[1]) - p[0].cwiseMin(q[0])).maxCoeff();
  return ((p[0] - q[1]).array() > distance).any() || ((q[0] - p[1]).array() > distance).any();
}

}  // namespace

double cubic_contact(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end,
                     double tolerance) {
  const StandardArithmetic standard;
  constexpr double never = std::numeric_limits<double>::infinity();
  if (boxes_apart(kind, start, end, tolerance)) return never;
  const NormalizedPair x(kind, start, end);
  const bool face = kind == PairKind::vertex_face;
  const Moving a = face ? between(x[1], x[2]) : between(x[0], x[1]);
  const Moving b = face ? between(x[1], x[3]) : between(x[2], x[3]);
  const Moving c = face ? between(x[1], x[0]) : between(x[0], x[2]);
  const Cubic p = coplanarity(a, b, c);
  Candidates candidates;
  candidates.add(0);
  candidates.add(1);
  add_cubic_roots(p, candidates);
  double area = 0;
  for (const double t : {0.0, 0.5, 1.0}) area = std::max(area, a.at(t).cross(b.at(t)).norm());
  const double largest = std::max({std::abs(p[0]), std::abs(p[1]), std::abs(p[2]), std::abs(p[3])});
  if (largest <= 4 * tolerance * area + 16 * round_off) {
    if (face) {
      add_alignments(x[0], x[1], x[2], candidates);
      add_alignments(x[0], x[2], x[3], candidates);
      add_alignments(x[0], x[3], x[1], candidates);
      for (std::size_t i : {1, 2, 3}) add_meetings(x[0], x[i], candidates);
    } else {
      for (std::size_t i : {0, 1}) add_alignments(x[i], x[2], x[3], candidates);
      for (std::size_t i : {2, 3}) add_alignments(x[i], x[0], x[1], candidates);
      for (std::size_t i : {0, 1})
        for (std::size_t j : {2, 3}) add_meetings(x[i], x[j], candidates);
    }
  }
  // Positions at a time are rounded, too.
  const double reach = tolerance + 0x1p-50;
  for (const double t : candidates.sorted())
    if (x.squared_distance(t) <= reach * reach) return t;
  return never;
}

}  // namespace meniscus::collision
