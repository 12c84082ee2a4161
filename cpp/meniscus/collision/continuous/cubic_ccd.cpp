#include "meniscus/collision/continuous/cubic_ccd.hpp"

#include "meniscus/collision/continuous/moving_pair.hpp"
#include "meniscus/core/floating_point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::collision {
namespace {

using Moving = MovingPair::Moving;

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
void add_cubic_roots(const Cubic& p, double error, Candidates& out) {
  std::array<double, 4> ends{0, 1, 1, 1};
  std::size_t n = 1;
  for_quadratic_roots(3 * p[3], 2 * p[2], p[1], [&](double t) {
    if (t > 0 && t < 1) ends[n++] = t;
  });
  ends[n] = 1;
  if (n == 3 && ends[2] < ends[1]) std::swap(ends[1], ends[2]);
  for (std::size_t i = 0; i <= n; ++i) {
    const double at = value(p, ends[i]);
    if (std::abs(at) <= error) out.add(ends[i]);
    if (i < n && at * value(p, ends[i + 1]) < 0) out.add(bracketed_root(p, ends[i], ends[i + 1]));
  }
}

Cubic coplanarity(const MovingPair& x) {
  const mesh::Point& a = x.a().start;
  const mesh::Point& b = x.b().start;
  const mesh::Point& c = x.c().start;
  const mesh::Point da = x.a().change();
  const mesh::Point db = x.b().change();
  const mesh::Point dc = x.c().change();
  const mesh::Point n0 = a.cross(b);
  const mesh::Point n1 = da.cross(b) + a.cross(db);
  const mesh::Point n2 = da.cross(db);
  return {n0.dot(c), n1.dot(c) + n0.dot(dc), n2.dot(c) + n1.dot(dc), n2.dot(dc)};
}

/// Round-off of a coefficient, in units of that of the coefficients over a piece of the step: changes are up to twice as large.
constexpr double growth = 8;

Moving operator-(const Moving& x, const Moving& y) { return {x.start - y.start, x.end - y.end}; }
Moving operator+(const Moving& x, const Moving& y) { return {x.start + y.start, x.end + y.end}; }

/// Times at which vectors are parallel, component by component of their cross product.
void add_alignments(const Moving& x, const Moving& y, Candidates& out) {
  const mesh::Point n0 = x.start.cross(y.start);
  const mesh::Point n1 = x.change().cross(y.start) + x.start.cross(y.change());
  const mesh::Point n2 = x.change().cross(y.change());
  for (int d = 0; d < 3; ++d) for_quadratic_roots(n2[d], n1[d], n0[d], [&](double t) { out.add(t); });
}

/// Times at which a vector vanishes, component by component: what is left where all points are on one line.
void add_zeros(const Moving& x, Candidates& out) {
  const mesh::Point change = x.change();
  for (int i = 0; i < 3; ++i)
    if (change[i] != 0) out.add(-x.start[i] / change[i]);
}

/// Times at which a vertex is on the line through an edge, or meets another vertex.
void add_coplanar_events(const MovingPair& x, Candidates& out) {
  const Moving& a = x.a();
  const Moving& b = x.b();
  const Moving& c = x.c();
  if (x.kind() == PairKind::vertex_face) {
    add_alignments(c, a, out);
    add_alignments(c - a, b - a, out);
    add_alignments(c - b, b, out);
    for (const Moving& meeting : {c, c - a, c - b}) add_zeros(meeting, out);
  } else {
    add_alignments(c, b, out);
    add_alignments(c - a, b, out);
    add_alignments(c, a, out);
    add_alignments(c + b, a, out);
    for (const Moving& meeting : {c, c - a, c + b, c + b - a}) add_zeros(meeting, out);
  }
}

/// Search for a contact that round-off has hidden from the roots. Each piece of the step is proved to be without contact, or
/// halved.
class Remainder {
 public:
  /// `likely` are the times at which the step is cut first, in order.
  Remainder(const MovingPair& pair, double tolerance, std::span<const double> likely)
      : pair_(pair), likely_(likely), free_(tolerance + pair.round_off()), contact_(tolerance + 4 * pair.round_off()) {}

  /// A time at which the distance is at most the tolerance, in spite of round-off, or infinity if there is certainly no contact.
  double search(double from, double to) {
    if (pair_.never_coplanar(from, to)) return never;
    const double* const first_likely = std::upper_bound(likely_.data(), likely_.data() + likely_.size(), from);
    const bool cut = first_likely != likely_.data() + likely_.size() && *first_likely < to;
    const double middle = cut ? *first_likely : from + 0.5 * (to - from);
    const mesh::Point gap = pair_.gap(middle);
    const double distance = gap.norm();
    if (distance <= contact_) return middle;
    if (pair_.separated(from, to, gap, free_)) return never;
    if (++samples_ > max_samples || !(to - from > shortest)) return middle;
    // The elements do not meet before the fastest of their points has covered the distance.
    const double radius = 0.5 * (distance - free_) / pair_.speed();
    double left = std::max(from, middle - radius);
    double right = std::min(to, middle + radius);
    if (!pair_.separated(left, right, gap, free_)) left = right = middle;
    const double first = search(from, left);
    return first == never ? search(right, to) : first;
  }

  static constexpr double never = std::numeric_limits<double>::infinity();

 private:
  /// Only distances within round-off of the tolerance for a long time take more. What stays open counts as contact.
  static constexpr int max_samples = 4096;
  static constexpr double shortest = 0x1p-51;

  const MovingPair& pair_;
  std::span<const double> likely_;
  double free_, contact_;
  int samples_ = 0;
};

/// Whether the boxes of the moving elements are farther apart than a fraction of their size.
bool boxes_apart(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end, double tolerance) {
  const std::size_t split = kind == PairKind::vertex_face ? 1 : 2;
  const auto bounds = [&](std::span<const mesh::Point> x) {
    std::array<mesh::Point, 2> b{x[0], x[0]};
    for (const mesh::Point& p : x) b = {b[0].cwiseMin(p), b[1].cwiseMax(p)};
    return b;
  };
  const std::array<std::array<mesh::Point, 2>, 4> box{bounds(start.first(split)), bounds(end.first(split)),
                                                      bounds(start.subspan(split)), bounds(end.subspan(split))};
  double size = 0;
  for (const auto& b : box) size = std::max(size, (b[1] - b[0]).maxCoeff());
  const mesh::Point first = (box[0][0].cwiseMin(box[1][0]) - box[2][1].cwiseMax(box[3][1]));
  const mesh::Point second = (box[2][0].cwiseMin(box[3][0]) - box[0][1].cwiseMax(box[1][1]));
  // Where the size overflows, the boxes do not count as apart.
  return std::max(first.maxCoeff(), second.maxCoeff()) > tolerance * size;
}

}  // namespace

double cubic_contact(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end,
                     double tolerance) {
  const StandardArithmetic standard;
  if (boxes_apart(kind, start, end, tolerance)) return Remainder::never;
  const MovingPair pair(kind, start, end);
  const double distance = tolerance * pair.size();
  // Most pairs move by less than their gap, or past each other.
  if (pair.separated(0, 1, pair.gap(0.5), distance)) return Remainder::never;
  const Cubic p = coplanarity(pair);
  const double error = growth * pair.cubic_error();
  Candidates candidates;
  candidates.add(0);
  candidates.add(1);
  add_cubic_roots(p, error, candidates);
  double area = 0;
  for (const double t : {0.0, 0.5, 1.0}) area = std::max(area, pair.a().at(t).cross(pair.b().at(t)).norm());
  const double largest = std::max({std::abs(p[0]), std::abs(p[1]), std::abs(p[2]), std::abs(p[3])});
  if (largest <= 4 * distance * area + 4 * error) add_coplanar_events(pair, candidates);
  const double reach = distance + 4 * pair.round_off();
  const std::span<const double> times = candidates.sorted();
  for (const double t : times)
    if (pair.gap(t).norm() <= reach) return t;
  return Remainder(pair, distance, times).search(0, 1);
}

}  // namespace meniscus::collision
