// Spring constants of strips, and their rest lengths under gravity: both from tensions that follow from the loads alone.
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/hair/shapes/strip_shape.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::solids::hair::strips {
using mesh::Point;

namespace {

/// Forces along and moments about the axes of a strand.
constexpr int wrenches = 6;
/// Against those along and about the longest axis, the others count little in a fit: they decide where the first say nothing.
constexpr double other_weight = 0.01;
/// Compliances below this part of those across say nothing.
constexpr double no_compliance = 1e-6;
/// Edges beside the hair, which carry no tension of its own, have at least this multiple of EI / length^3.
constexpr double stiff_side = 100;
/// Edges may have at most this part of the compliance; else they are made stiffer until they have a tenth.
constexpr double most_rigid = 0.3;
/// Constants of bending or torsion springs are at most this multiple of those that each alone would have.
constexpr double most_stiff = 50;

struct Wrench {
  Point force = Point::Zero(), moment = Point::Zero();
};

/// Forces on three points that make a wrench about c.
std::array<Point, 3> forces_on(const Point* x, const Wrench& w, const Point& c) {
  const Point middle = (x[0] + x[1] + x[2]) / 3;
  const Point moment = w.moment + (c - middle).cross(w.force);
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
  for (int i = 0; i < 3; ++i) {
    const Point r = x[i] - middle;
    inertia += r.squaredNorm() * Eigen::Matrix3d::Identity() - r * r.transpose();
  }
  const Point a = inertia.inverse() * moment;
  std::array<Point, 3> out;
  for (int i = 0; i < 3; ++i) out[i] = w.force / 3 + a.cross(x[i] - middle);
  return out;
}

/// Tangent of a curve through points times the distance between them; of fourth order inside.
Point tangent_at(const std::vector<Point>& p, Index i) {
  const Index n = static_cast<Index>(p.size());
  if (i >= 2 && i + 2 < n) return (8 * (p[i + 1] - p[i - 1]) - (p[i + 2] - p[i - 2])) / 12;
  if (i >= 1 && i + 1 < n) return 0.5 * (p[i + 1] - p[i - 1]);
  return i == 0 ? p[1] - p[0] : p[n - 1] - p[n - 2];
}

/// Fits one strand; `c` are its constants. Returns the misfit.
double fit_strand(const StripShape& shape, Index s, const StrandStiffness& k, SpringConstants* c) {
  const Index b = shape.offsets[s], n = shape.offsets[s + 1] - b;
  const Point* const x = shape.particles.data() + b;
  std::vector<Point> points;
  std::vector<double> cell(n);
  const bool framed = shape.kinds[b] == Particle::frame;
  for (Index i = 0; i < n; ++i)
    if (shape.kinds[b + i] == Particle::point) points.push_back(x[i]);
  const Index count = static_cast<Index>(points.size());
  double at = (points[1] - points[0]).norm();
  for (Index i = 0, p = 0; i < n; ++i) {
    if (shape.kinds[b + i] == Particle::point && p + 1 < count) at = (points[p + 1] - points[p]).norm(), ++p;
    cell[i] = shape.kinds[b + i] == Particle::frame ? 0.5 * at : at;
  }
  Point middle = Point::Zero();
  for (const Point& p : points) middle += p / static_cast<double>(count);
  Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
  for (const Point& p : points) spread += (p - middle) * (p - middle).transpose();
  const Eigen::Matrix3d axes = Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(spread).eigenvectors();
  const auto edge = [&](Index i, int d) { return d < 2 && shape.edges[b + i][d] != 0; };
  const auto stretching = [&](Index i, int d) {
    const double own = k.stretching / (x[i + d + 1] - x[i]).norm(), l = cell[i];
    const bool on_hair = shape.kinds[b + i] != Particle::extra && shape.kinds[b + i + d + 1] != Particle::extra;
    return on_hair ? own : own + stiff_side * k.bending / (l * l * l);
  };
  for (Index i = 0; i < n; ++i)
    for (int d = 0; d < 3 && i + d + 1 < n; ++d)
      if (edge(i, d)) c[i][d] = stretching(i, d);

  // Tensions under six wrenches at the tip.
  const Index tip = n - 3;
  const bool plain = shape.kinds[b + n - 2] == Particle::point && n > 4;  // the last triangle has a joint of its own
  std::vector<std::array<double, 3>> tension[wrenches];
  std::vector<Point> loads(n, Point::Zero());
  std::array<Wrench, wrenches> w;
  bool well = true;
  for (int i = 0; i < 3; ++i) w[i].force = w[3 + i].moment = axes.col(2 - i);
  for (int i = 0; i < wrenches; ++i) {
    const auto f = forces_on(x + tip, w[i], middle);
    for (int j = 0; j < 3; ++j) loads[tip + j] = f[j];
    tension[i].resize(n);
    well = balance(n, x, loads.data(), tension[i].data()) && well;
  }
  // Constants of the same compliance everywhere; factors of them are fitted.
  const auto inside = [&](Index i, int d) { return i + d + 1 < n && i + d + 1 >= 3 && !(plain && i >= tip); };
  std::array<double, 3> last{};  // of springs that the loads do not reach
  std::array<double, wrenches> rigid{}, bend{}, turn{}, target{};
  for (Index i = 0; i < n; ++i)
    for (int d = 1; d < 3 && i + d + 1 < n; ++d) {
      if (edge(i, d)) continue;
      double square = 0;
      for (int m = 3; m < wrenches; ++m) square += tension[m][i][d] * tension[m][i][d];
      const bool known = inside(i, d) && well && square > 0;
      const double own = known ? square : last[d] > 0 ? last[d] : 1 / (cell[i] * cell[i]);
      if (known) last[d] = own;
      c[i][d] = k.bending / cell[i] * own;
    }
  for (int m = 0; m < wrenches; ++m)
    for (Index i = 0; i < n; ++i)
      for (int d = 0; d < 3; ++d) {
        if (!inside(i, d)) continue;
        const double energy = tension[m][i][d] * tension[m][i][d] / c[i][d];
        (edge(i, d) ? rigid : d == 1 ? bend : turn)[m] += energy;
      }
  for (Index p = framed ? 0 : 1; p + 1 < count - (plain ? 1 : 0); ++p) {
    const Point t = tangent_at(points, p);
    const double length = t.norm() * (p == 0 ? 0.5 : 1);
    for (int m = 0; m < wrenches; ++m) {
      const Point moment = w[m].moment + (middle - points[p]).cross(w[m].force);
      const double twist = moment.dot(t) / t.norm(), square = moment.squaredNorm();
      target[m] += length * (twist * twist / k.twisting + std::max(square - twist * twist, 0.0) / k.bending);
    }
  }
  double u = 1, v = 1, misfit = 0, firmer = 1;
  if (well && count > 3) {
    // Where levers are short, as in curls without particles beside them, edges have to be stiffer than EA says.
    for (int m = 0; m < wrenches; m += 3)
      if (target[m] > no_compliance * std::max(target[m + 1], target[m + 2]) && rigid[m] > most_rigid * target[m])
        firmer = std::max(firmer, 10 * rigid[m] / target[m]);
    for (double& r : rigid) r /= firmer;
    // Least squares of u * bend + v * turn + rigid = target, in relative terms.
    double uu = 0, uv = 0, vv = 0, ub = 0, vb = 0;
    const double across = std::max(target[1], target[2]);
    const auto weight = [&](int m) {
      if (m < 3 && !(target[m] > no_compliance * across)) return 0.0;
      return m % 3 == 0 ? 1.0 : other_weight;
    };
    for (int m = 0; m < wrenches; ++m) {
      if (weight(m) == 0) continue;
      const double q = weight(m) / (target[m] * target[m]), left = std::max(target[m] - rigid[m], 0.01 * target[m]);
      uu += q * bend[m] * bend[m], uv += q * bend[m] * turn[m], vv += q * turn[m] * turn[m];
      ub += q * bend[m] * left, vb += q * turn[m] * left;
    }
    const double det = uu * vv - uv * uv;
    const double least_u = uu > 0 ? ub / uu / most_stiff : 1, least_v = vv > 0 ? vb / vv / most_stiff : 1;
    if (det > 1e-12 * uu * vv) {
      u = (ub * vv - vb * uv) / det, v = (vb * uu - ub * uv) / det;
      if (u < least_u) u = least_u, v = (vb - u * uv) / vv;
      if (v < least_v) v = least_v, u = std::max((ub - v * uv) / uu, least_u);
    } else {
      u = v = (ub + vb) / std::max(uu + 2 * uv + vv, 1e-300);
    }
    // Curls stretch along their axis exactly as rods do, also where two constants cannot serve both loads.
    if (weight(0) > 0) {
      const double scale = std::max(target[0] - rigid[0], 0.01 * target[0]) / (u * bend[0] + v * turn[0]);
      u *= scale, v *= scale;
    }
    for (int m = 0; m < wrenches; ++m)
      if (weight(m) == 1.0 || (m > 3 && weight(0) == 0.0))
        misfit = std::max(misfit, std::abs((u * bend[m] + v * turn[m] + rigid[m]) / target[m] - 1));
  } else {
    misfit = std::numeric_limits<double>::infinity();
  }
  for (Index i = 0; i < n; ++i) {
    for (int d = 0; d < 2; ++d)
      if (edge(i, d)) c[i][d] *= firmer;
    if (!edge(i, 1)) c[i][1] /= u;
    c[i][2] /= v;
    c[i][3] = i + 3 < n ? c[i][2] : 0;
    for (int d = 0; d < 3; ++d)
      if (i + d + 1 >= n) c[i][d] = 0;
  }
  return misfit;
}

}  // namespace

std::vector<SpringConstants> fit_constants(const StripShape& shape, std::span<const StrandStiffness> stiffness,
                                           std::span<double> misfit) {
  std::vector<SpringConstants> out(shape.particles.size(), SpringConstants{});
  core::parallel_for(0, static_cast<Index>(stiffness.size()), 16, [&](Index begin, Index end) {
    for (Index s = begin; s < end; ++s) misfit[s] = fit_strand(shape, s, stiffness[s], out.data() + shape.offsets[s]);
  });
  return out;
}

void StripStrands::rest_at(ConstPoints x, std::span<const double> masses, const Point& gravity,
                           std::span<const std::uint8_t> chosen, std::span<double> lengths) {
  std::vector<SpringConstants> k(x.size());
  constants(k);
  std::vector<std::array<double, 3>> rest(x.size());
  rest_lengths(rest);
  core::parallel_for(0, strands(), 16, [&](Index begin, Index end) {
    std::vector<Point> loads;
    std::vector<std::array<double, 3>> tension;
    for (Index s = begin; s < end; ++s) {
      if (chosen[s] == 0) continue;
      const Index b = offsets_[s], n = offsets_[s + 1] - b;
      loads.resize(n), tension.resize(n);
      for (Index i = 0; i < n; ++i) loads[i] = masses[b + i] * gravity;
      const bool well = balance(n, x.data() + b, loads.data(), tension.data());
      double least = well ? 1 : 0;
      for (Index i = 0; i < n; ++i)
        for (int d = 0; d < 3 && i + d + 1 < n; ++d) {
          const double length = (x[b + i + d + 1] - x[b + i]).norm();
          rest[b + i][d] = k[b + i][d] > 0 ? length - tension[i][d] / k[b + i][d] : length;
          least = std::min(least, rest[b + i][d] / length);
        }
      lengths[s] = least;
    }
  });
  set_rest_lengths(rest);
}

}  // namespace meniscus::solids::hair::strips
