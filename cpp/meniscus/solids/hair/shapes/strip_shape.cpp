#include "meniscus/solids/hair/shapes/strip_shape.hpp"

#include "meniscus/core/error.hpp"

#include <Eigen/Geometry>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace meniscus::solids::hair::strips {
using mesh::Point;

namespace {

/// Segments are in line if the sine of their angle is below this (Selle's public code).
constexpr double colinear_sine = 1e-2;
/// A particle beside a segment spans an equilateral triangle with it (Selle 2008, section 7.3.1).
constexpr double aside = std::numbers::sqrt3 / 2;
/// Tetrahedra whose sixfold volume is below this part of the cubed length of the segment are flat.
constexpr double flat_volume = 0.1;
/// Mass of a particle beside a segment, as a part of that of the segment.
constexpr double extra_mass = 0.1;
/// Turns of one particle beside the hair to the next, as printed on the figure a quarter of a turn, and those that serve where it
/// would make a flat tetrahedron; rad.
constexpr double quarter = std::numbers::pi / 2;
constexpr std::array<double, 7> turns{1.0, 0.67, 1.33, 0.5, 1.5, -1.0, -0.67};

Point carried(const Point& v, const Point& from, const Point& to) {
  const Point w = v - (v.dot(to) / std::max(1 + from.dot(to), 1e-12)) * (from + to);
  return (w - w.dot(to) * to).normalized();
}

double volume(const Point& a, const Point& b, const Point& c, const Point& d) {
  return std::abs((b - a).cross(c - a).dot(d - a));
}

}  // namespace

StripShape shape_strips(std::span<const std::int64_t> offsets, std::span<const Point> points, std::span<const Point> directions,
                        std::span<const Point> directors, bool framed, Extra extra) {
  StripShape out;
  out.offsets.push_back(0);
  const auto put = [&](const Point& x, Particle kind, double length, std::int32_t parent) {
    out.particles.push_back(x);
    out.kinds.push_back(kind);
    out.lengths.push_back(length);
    out.edges.push_back({0, 0});
    out.parents.push_back(parent);
    return static_cast<std::int32_t>(out.particles.size() - 1);
  };
  for (Index s = 0; s + 1 < static_cast<Index>(offsets.size()); ++s) {
    const Index b = offsets[s], n = offsets[s + 1] - b;
    const Index first = static_cast<Index>(out.particles.size());
    std::vector<Point> t(n - 1);
    std::vector<double> l(n - 1);
    for (Index i = 0; i + 1 < n; ++i) {
      const Point d = points[b + i + 1] - points[b + i];
      l[i] = d.norm();
      core::require(l[i] > 0, "points ", i, " and ", i + 1, " of strand ", s, " coincide");
      t[i] = d / l[i];
    }
    Point side = carried(directors[s].normalized(), directions[s], t[0]);
    if (framed) {
      const Point d = directors[s].normalized();
      put(points[b] - l[0] * directions[s], Particle::frame, l[0], -1);
      put(points[b] - 0.5 * l[0] * directions[s] + aside * l[0] * d, Particle::frame, l[0], -1);
      out.edges[first] = {1, 1};
      out.edges[first + 1] = {1, 0};
    }
    const auto in_line = [&](const Point& p, const Point& q) { return p.cross(q).norm() < colinear_sine; };
    for (Index i = 0; i < n; ++i) {
      const double share = 0.5 * ((i > 0 ? l[i - 1] : 0) + (i + 1 < n ? l[i] : 0));
      const std::int32_t last = out.nodes.empty() || i == 0 ? -1 : out.nodes.back();
      const std::int32_t node = put(points[b + i], Particle::point, share, last);
      out.nodes.push_back(node);
      if (i + 1 == n) break;
      out.edges[node][0] = 1;
      const Index here = static_cast<Index>(out.particles.size());
      bool beside = extra == Extra::always || (i == 0 && (framed || n < 4)) || (i > 0 && in_line(t[i - 1], t[i])) ||
                    (i + 2 < n && in_line(t[i], t[i + 1]));
      const auto before = [&](Index k) { return out.particles[here - k]; };
      const double cube = l[i] * l[i] * l[i];
      // Four in a row of the hair itself that lie in a plane need one too.
      if (!beside && here - first >= 3) beside = volume(before(3), before(2), before(1), points[b + i + 1]) < 1e-3 * cube;
      if (i > 0) side = carried(side, t[i - 1], t[i]);
      if (!beside) continue;
      Point best = side, at = side;
      double widest = -1;
      for (const double turn : turns) {
        at = Eigen::AngleAxisd(turn * quarter, t[i]) * side;
        const Point q = points[b + i] + 0.5 * l[i] * t[i] + aside * l[i] * at;
        double least = cube;
        if (here - first >= 3) least = std::min(least, volume(before(3), before(2), before(1), q));
        if (here - first >= 2) least = std::min(least, volume(before(2), before(1), q, points[b + i + 1]));
        if (i + 2 < n && !in_line(t[i], t[i + 1]) && extra == Extra::colinear)
          least = std::min(least, volume(before(1), q, points[b + i + 1], points[b + i + 2]));
        if (least > widest) widest = least, best = at;
        if (least > flat_volume * cube) break;
      }
      side = best;
      const Point q = points[b + i] + 0.5 * l[i] * t[i] + aside * l[i] * side;
      const std::int32_t beside_it = put(q, Particle::extra, extra_mass * l[i], node);
      out.edges[node][1] = 1;
      out.edges[beside_it][0] = 1;
      out.lengths[node] -= 0.5 * extra_mass * l[i];
    }
    // The later end of a segment gives its part of the mass of the particle beside it, too.
    for (Index p = first + 1; p + 1 < static_cast<Index>(out.particles.size()); ++p)
      if (out.kinds[p] == Particle::extra) out.lengths[p + 1] -= 0.5 * out.lengths[p];
    out.offsets.push_back(static_cast<std::int64_t>(out.particles.size()));
  }
  return out;
}

bool balance(Index n, const Point* x, const Point* loads, std::array<double, 3>* tensions) {
  for (Index i = 0; i < n; ++i) tensions[i] = {0, 0, 0};
  bool well = true;
  for (Index i = n - 1; i >= 3; --i) {
    Point load = loads[i];
    for (Index s = 1; s <= 3 && i + s < n; ++s) load += tensions[i][s - 1] * (x[i + s] - x[i]).normalized();
    Eigen::Matrix3d d;
    for (int s = 1; s <= 3; ++s) d.col(s - 1) = (x[i] - x[i - s]).normalized();
    const double det = d.determinant();
    if (!(std::abs(det) > 1e-9)) {
      well = false;
      continue;
    }
    const Point t = d.inverse() * load;
    for (int s = 1; s <= 3; ++s) tensions[i - s][s - 1] = t[s - 1];
  }
  return well;
}

}  // namespace meniscus::solids::hair::strips
