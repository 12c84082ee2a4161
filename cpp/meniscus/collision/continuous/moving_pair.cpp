#include "meniscus/collision/continuous/moving_pair.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::collision {
namespace {

constexpr double unit = 0x1p-53;

using MovingPoints = MovingPair::Moving;
using Differences = std::array<MovingPoints, 3>;

/// The differences times a power of two. Where positions are close to the largest double, their quarters are taken.
Differences differences(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end,
                        double shrink) {
  const auto from = [&](std::size_t i, std::size_t j) {
    return MovingPoints{shrink * start[j] - shrink * start[i], shrink * end[j] - shrink * end[i]};
  };
  if (kind == PairKind::vertex_face) return {from(1, 2), from(1, 3), from(1, 0)};
  return {from(0, 1), from(2, 3), from(0, 2)};
}

double largest(const mesh::Point& x) { return x.cwiseAbs().maxCoeff(); }
double largest(const MovingPoints& x) { return std::max(largest(x.start), largest(x.end)); }
mesh::Point magnitude(const MovingPoints& x) { return x.start.cwiseAbs().cwiseMax(x.end.cwiseAbs()); }

/// The determinant with all signs positive.
double permanent(const mesh::Point& a, const mesh::Point& b, const mesh::Point& c) {
  return c[0] * (a[1] * b[2] + a[2] * b[1]) + c[1] * (a[2] * b[0] + a[0] * b[2]) + c[2] * (a[0] * b[1] + a[1] * b[0]);
}

/// From p to the closest point of the segment from q along d.
mesh::Point to_segment(const mesh::Point& p, const mesh::Point& q, const mesh::Point& d) {
  const double length2 = d.squaredNorm();
  const double t = length2 > 0 ? std::clamp((p - q).dot(d) / length2, 0.0, 1.0) : 0.0;
  return q - p + t * d;
}

/// From the segment along a, from the origin, to that from c along b.
mesh::Point between_segments(const mesh::Point& a, const mesh::Point& b, const mesh::Point& c) {
  // Either an end of one is involved, or the vector is normal to both.
  const mesh::Point zero = mesh::Point::Zero();
  mesh::Point best = to_segment(zero, c, b);
  for (const mesh::Point& other :
       {to_segment(a, c, b), mesh::Point(-to_segment(c, zero, a)), mesh::Point(-to_segment(c + b, zero, a))})
    if (other.squaredNorm() < best.squaredNorm()) best = other;
  const mesh::Point n = a.cross(b);
  const double n2 = n.squaredNorm();
  // Of lines that are parallel up to round-off the crossing is noise, and the ends are as near as the segments.
  if (!(n2 > 0x1p-80 * a.squaredNorm() * b.squaredNorm())) return best;
  const double u = c.cross(b).dot(n);
  const double v = c.cross(a).dot(n);
  if (u >= 0 && u <= n2 && v >= 0 && v <= n2) {
    const mesh::Point across = (c.dot(n) / n2) * n;
    if (across.squaredNorm() < best.squaredNorm()) best = across;
  }
  return best;
}

}  // namespace

MovingPair::MovingPair(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end) : kind_(kind) {
  const auto extent = [](const Differences& d) { return std::max({largest(d[0]), largest(d[1]), largest(d[2])}); };
  Differences d = differences(kind, start, end, 1);
  if (extent(d) == std::numeric_limits<double>::infinity()) d = differences(kind, start, end, 0.25);
  if (const double most = extent(d); most > 0) {
    // In two factors, because the reciprocal of a subnormal number overflows.
    const int exponent = -1 - std::ilogb(most);
    const double factor = std::ldexp(1.0, exponent / 2);
    const double rest = std::ldexp(1.0, exponent - exponent / 2);
    for (MovingPoints& x : d) x = {(x.start * factor) * rest, (x.end * factor) * rest};
  }
  a_ = d[0];
  b_ = d[1];
  c_ = d[2];
  size_ = std::max(largest(a_), largest(b_));
  if (kind == PairKind::vertex_face) size_ = std::max({size_, largest(b_.start - a_.start), largest(b_.end - a_.end)});
  // A component of a difference at some time is in error by 4 u times its magnitude. A projection on a vector with largest
  // component 1 has three products and two sums: 20 u for each of a, b and c, and up to 6 u more for the sum of the three. Lost
  // to underflow is less than 2^-1070.
  round_off_ = 28 * unit * (largest(a_) + largest(b_) + largest(c_));
  // 18 terms, through 3 * 4 (interpolated differences) + 1 + 1 + 1 (product, subtraction) + 1 + 2 (dot product) + 2 (sum of
  // three) roundings: 57 u. Where much of it may be lost to underflow, nothing is certain.
  const double terms = permanent(magnitude(a_), magnitude(b_), magnitude(c_));
  cubic_error_ = terms > 0x1p-900 ? 64 * unit * terms : std::numeric_limits<double>::infinity();
  const mesh::Point va = a_.change();
  const mesh::Point vb = b_.change();
  const mesh::Point vc = c_.change();
  speed_ = std::max(vc.norm(), (vc - va).norm());
  if (kind == PairKind::vertex_face)
    speed_ = std::max(speed_, (vc - vb).norm());
  else
    speed_ = std::max({speed_, (vc + vb).norm(), (vc + vb - va).norm()});
}

mesh::Point MovingPair::gap(double t) const {
  const mesh::Point a = a_.at(t);
  const mesh::Point b = b_.at(t);
  const mesh::Point c = c_.at(t);
  if (kind_ == PairKind::edge_edge) return between_segments(a, b, c);
  return closest_point_on_triangle(c, mesh::Point::Zero(), a, b).position - c;
}

bool MovingPair::separated(double from, double to, const mesh::Point& direction, double distance) const {
  const double most = largest(direction);
  if (!(most > 0)) return false;
  const mesh::Point n = direction / most;
  const double required = (distance + round_off_) * n.norm();
  for (const double t : {from, to}) {
    const double a = n.dot(a_.at(t));
    const double b = n.dot(b_.at(t));
    const double c = n.dot(c_.at(t));
    // The direction points from the first element to the second.
    const double least = kind_ == PairKind::vertex_face ? std::min({0.0, a, b}) - c : c + std::min(b, 0.0) - std::max(a, 0.0);
    if (!(least > required)) return false;
  }
  return true;
}

bool MovingPair::never_coplanar(double from, double to) const {
  const mesh::Point a0 = a_.at(from);
  const mesh::Point a1 = a_.at(to);
  const mesh::Point b0 = b_.at(from);
  const mesh::Point b1 = b_.at(to);
  const mesh::Point c0 = c_.at(from);
  const mesh::Point c1 = c_.at(to);
  const mesh::Point n0 = a0.cross(b0);
  const mesh::Point n1 = a0.cross(b1) + a1.cross(b0);
  const mesh::Point n2 = a1.cross(b1);
  // With s from 0 at one end to infinity at the other, a = (a0 + s a1) / (1 + s), and so on: the cubic is between the least and
  // the largest of its coefficients in s.
  const std::array<double, 4> k{n0.dot(c0), n1.dot(c0) + n0.dot(c1), n2.dot(c0) + n1.dot(c1), n2.dot(c1)};
  return *std::min_element(k.begin(), k.end()) > cubic_error_ || *std::max_element(k.begin(), k.end()) < -cubic_error_;
}

}  // namespace meniscus::collision
