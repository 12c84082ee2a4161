#include "meniscus/surface/shapes/shapes.hpp"

#include "meniscus/core/error.hpp"

#include <Eigen/Geometry>

#include <algorithm>
#include <cmath>

namespace meniscus::surface {
namespace {

using Vec2 = Vec<double, 2>;
using Vec3 = Vec<double, 3>;

double square(double x) { return x * x; }

template <int D>
void require_finite(const Vec<double, D>& v, const char* name) {
  require(v.array().isFinite().all(), name, " must be finite");
}

void require_positive(double x, const char* name) {
  require(std::isfinite(x) && x > 0, name, " must be positive and finite, got ", x);
}

/// A shape whose distance function is `f`, exact, so that growing its box bounds its level sets.
template <int D, class F>
class Primitive : public ImplicitShape<D> {
 public:
  Primitive(F f, const Bounds<D>& bounds) : f_(std::move(f)), bounds_(bounds) {}
  void evaluate(const double* points, int n, double* out) const override {
    for (int i = 0; i < n; ++i) out[i] = f_(Vec<double, D>(Eigen::Map<const Vec<double, D>>(points + i * D)));
  }
  Bounds<D> bounds(double level) const override { return bounds_.grown(level); }

 private:
  F f_;
  Bounds<D> bounds_;
};

/// A shape whose gradient, of any length, is `g`.
template <int D, class F, class G>
class SmoothPrimitive final : public Primitive<D, F> {
 public:
  SmoothPrimitive(F f, G g, const Bounds<D>& bounds) : Primitive<D, F>(std::move(f), bounds), g_(std::move(g)) {}
  void normals(const double* points, int n, double* out) const override {
    for (int i = 0; i < n; ++i)
      Eigen::Map<Vec<double, D>>(out + i * D) =
          unit_or_last<D>(g_(Vec<double, D>(Eigen::Map<const Vec<double, D>>(points + i * D))));
  }

 private:
  G g_;
};

template <int D, class F>
ShapePointer<D> primitive(const Bounds<D>& bounds, F f) {
  return std::make_shared<Primitive<D, F>>(std::move(f), bounds);
}

template <int D, class F, class G>
ShapePointer<D> smooth_primitive(const Bounds<D>& bounds, F f, G g) {
  return std::make_shared<SmoothPrimitive<D, F, G>>(std::move(f), std::move(g), bounds);
}

/// Squared distance from x to the segment from a along `edge`.
template <int D>
double squared_distance_to_segment(const Vec<double, D>& x, const Vec<double, D>& a, const Vec<double, D>& edge) {
  const Vec<double, D> y = x - a;
  const double t = std::clamp(y.dot(edge) / edge.squaredNorm(), 0.0, 1.0);
  return (y - t * edge).squaredNorm();
}

/// Half extents of the disc of unit radius across the unit vector u.
Vec3 disc_extents(const Vec3& u) { return (1.0 - u.array().square()).max(0.0).sqrt(); }

}  // namespace

template <int D>
ShapePointer<D> sphere(const Vec<double, D>& center, double radius) {
  require_finite<D>(center, "center");
  require_positive(radius, "radius");
  return smooth_primitive<D>(
      Bounds<D>{center, center}.grown(radius), [=](const Vec<double, D>& x) { return (x - center).norm() - radius; },
      [=](const Vec<double, D>& x) { return Vec<double, D>(x - center); });
}

template <int D>
ShapePointer<D> box(const Vec<double, D>& lower, const Vec<double, D>& upper, double rounding) {
  require_finite<D>(lower, "lower");
  require_finite<D>(upper, "upper");
  require((upper - lower).minCoeff() > 0, "upper must lie above lower on every axis");
  const Vec<double, D> center = 0.5 * (lower + upper);
  const Vec<double, D> half = 0.5 * (upper - lower);
  require(rounding >= 0 && rounding <= half.minCoeff(), "rounding must be between 0 and half of the shortest edge, ",
          half.minCoeff(), ", got ", rounding);
  const Vec<double, D> core = half.array() - rounding;
  return primitive<D>({lower, upper}, [=](const Vec<double, D>& x) {
    const Vec<double, D> q = (x - center).cwiseAbs() - core;
    return q.cwiseMax(0.0).norm() + std::min(q.maxCoeff(), 0.0) - rounding;
  });
}

template <int D>
ShapePointer<D> half_space(const Vec<double, D>& point, const Vec<double, D>& normal) {
  require_finite<D>(point, "point");
  require_finite<D>(normal, "normal");
  require(normal.norm() > 0, "normal must not be zero");
  const Vec<double, D> n = normal.normalized();
  Bounds<D> bounds = Bounds<D>::everything();
  for (int d = 0; d < D; ++d) {
    if (n[d] == 1.0) bounds.upper[d] = point[d];
    if (n[d] == -1.0) bounds.lower[d] = point[d];
  }
  return smooth_primitive<D>(
      bounds, [=](const Vec<double, D>& x) { return n.dot(x - point); }, [=](const Vec<double, D>&) { return n; });
}

template <int D>
ShapePointer<D> capsule(const Vec<double, D>& start, const Vec<double, D>& end, double radius) {
  require_finite<D>(start, "start");
  require_finite<D>(end, "end");
  require((end - start).norm() > 0, "start and end must not coincide");
  require_positive(radius, "radius");
  const Vec<double, D> edge = end - start;
  return primitive<D>(Bounds<D>{start.cwiseMin(end), start.cwiseMax(end)}.grown(radius), [=](const Vec<double, D>& x) {
    return std::sqrt(squared_distance_to_segment<D>(x, start, edge)) - radius;
  });
}

ShapePointer<3> cone(const Vec3& start, const Vec3& end, double start_radius, double end_radius) {
  require_finite<3>(start, "start");
  require_finite<3>(end, "end");
  require((end - start).norm() > 0, "start and end must not coincide");
  require(std::isfinite(start_radius) && start_radius >= 0, "start_radius must be finite and not negative, got ", start_radius);
  require(std::isfinite(end_radius) && end_radius >= 0, "end_radius must be finite and not negative, got ", end_radius);
  require(start_radius + end_radius > 0, "start_radius and end_radius must not both be zero");
  const double length = (end - start).norm();
  const Vec3 axis = (end - start) / length;
  const Vec3 reach = disc_extents(axis);
  const Bounds<3> bounds{(start - start_radius * reach).cwiseMin(end - end_radius * reach),
                         (start + start_radius * reach).cwiseMax(end + end_radius * reach)};
  // In the half plane of (distance to the axis, height) the solid is a trapezoid, one side of which is no surface.
  const Vec2 low(start_radius, 0.0);
  const Vec2 slant(end_radius - start_radius, length);
  return primitive<3>(bounds, [=](const Vec3& x) {
    const Vec3 y = x - start;
    const double height = y.dot(axis);
    const Vec2 p((y - height * axis).norm(), height);
    double d2 = squared_distance_to_segment<2>(p, low, slant);
    d2 = std::min(d2, square(std::max(p[0] - start_radius, 0.0)) + square(height));
    d2 = std::min(d2, square(std::max(p[0] - end_radius, 0.0)) + square(height - length));
    const bool inside = height > 0.0 && height < length && (p - low)[0] * slant[1] < (p - low)[1] * slant[0];
    return inside ? -std::sqrt(d2) : std::sqrt(d2);
  });
}

ShapePointer<3> torus(const Vec3& center, const Vec3& axis, double major_radius, double minor_radius) {
  require_finite<3>(center, "center");
  require_finite<3>(axis, "axis");
  require(axis.norm() > 0, "axis must not be zero");
  require_positive(minor_radius, "minor_radius");
  require(std::isfinite(major_radius) && major_radius > minor_radius, "major_radius must be finite and above minor_radius, got ",
          major_radius);
  const Vec3 u = axis.normalized();
  const Vec3 reach = major_radius * disc_extents(u);
  return primitive<3>(Bounds<3>{center - reach, center + reach}.grown(minor_radius), [=](const Vec3& x) {
    const Vec3 y = x - center;
    const double height = y.dot(u);
    return std::hypot((y - height * u).norm() - major_radius, height) - minor_radius;
  });
}

/// The closest point is x_i = e_i^2 y_i / (t + e_i^2) with the largest root t of sum (e_i y_i / (t + e_i^2))^2 = 1 (Eberly,
/// "Distance from a point to an ellipse, an ellipsoid, or a hyperellipsoid"). We solve for s = t / e_min^2 + 1, which keeps its
/// digits at the pole, and by Newton's method on 1 / |p(s)| = 1, which is concave: iterates rise to the root from below
/// (More and Sorensen 1983, "Computing a trust region step").
template <int D>
ShapePointer<D> ellipsoid(const Vec<double, D>& center, const Vec<double, D>& radii) {
  require_finite<D>(center, "center");
  for (double r : radii) require_positive(r, "each of radii");
  const double shortest = radii.minCoeff();
  const Vec<double, D> ratio = (radii / shortest).array().square();
  const Vec<double, D> beyond = ((radii.array() - shortest) * (radii.array() + shortest)) / square(shortest);
  return primitive<D>({center - radii, center + radii}, [=](const Vec<double, D>& x) {
    // A coordinate of zero would divide by zero on the medial axis; this moves the point by less than rounding.
    const Vec<double, D> y = (x - center).cwiseAbs().cwiseMax(1e-18 * shortest);
    const Vec<double, D> z = ratio.cwiseProduct(y.cwiseQuotient(radii));
    double s = (z - beyond).maxCoeff();  // where one term alone is 1
    for (int iteration = 0; iteration < 100; ++iteration) {
      const Vec<double, D> pole = beyond.array() + s;
      const Vec<double, D> p = z.cwiseQuotient(pole);
      const double norm2 = p.squaredNorm();
      const double step = (std::sqrt(norm2) - 1.0) * norm2 / p.cwiseProduct(p).cwiseQuotient(pole).sum();
      if (!(s + step > s)) break;
      s += step;
    }
    return (s - 1.0) * y.cwiseQuotient(Vec<double, D>(beyond.array() + s)).norm();
  });
}

ShapePointer<2> polygon(const std::vector<std::vector<Vec2>>& loops) {
  struct Edge {
    Vec2 start, end;
  };
  std::vector<Edge> edges;
  Bounds<2> bounds{Bounds<2>::everything().upper, Bounds<2>::everything().lower};
  require(!loops.empty(), "a polygon needs at least one loop");
  for (const auto& loop : loops) {
    require(loop.size() >= 3, "every loop of a polygon needs at least 3 vertices, got ", loop.size());
    for (std::size_t i = 0; i < loop.size(); ++i) {
      require_finite<2>(loop[i], "every vertex of a polygon");
      const Vec2& next = loop[(i + 1) % loop.size()];
      require(next != loop[i], "neighbouring vertices of a polygon must not coincide");
      edges.push_back({loop[i], next});
      bounds.lower = bounds.lower.cwiseMin(loop[i]);
      bounds.upper = bounds.upper.cwiseMax(loop[i]);
    }
  }
  return primitive<2>(bounds, [edges = std::move(edges)](const Vec2& x) {
    double d2 = std::numeric_limits<double>::infinity();
    bool inside = false;
    for (const auto& [start, end] : edges) {
      const Vec2 edge = end - start;
      d2 = std::min(d2, squared_distance_to_segment<2>(x, start, edge));
      // Whether the ray from x along the first axis crosses this edge. Half-open in height, so that a vertex counts once.
      if ((start[1] > x[1]) != (end[1] > x[1])) {
        const double side = (x[0] - start[0]) * edge[1] - (x[1] - start[1]) * edge[0];
        if ((side < 0.0) == (edge[1] > 0.0)) inside = !inside;
      }
    }
    return inside ? -std::sqrt(d2) : std::sqrt(d2);
  });
}

#define MENISCUS_INSTANTIATE(D)                                                              \
  template ShapePointer<D> sphere<D>(const Vec<double, D>&, double);                         \
  template ShapePointer<D> box<D>(const Vec<double, D>&, const Vec<double, D>&, double);     \
  template ShapePointer<D> half_space<D>(const Vec<double, D>&, const Vec<double, D>&);      \
  template ShapePointer<D> capsule<D>(const Vec<double, D>&, const Vec<double, D>&, double); \
  template ShapePointer<D> ellipsoid<D>(const Vec<double, D>&, const Vec<double, D>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
