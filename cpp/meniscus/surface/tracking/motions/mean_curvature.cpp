#include "meniscus/surface/tracking/motions/mean_curvature.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/numerics/sparse/sparse_system.hpp"
#include "meniscus/surface/tracking/motions/vertex_rims.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

using mesh::Point;
using mesh::Triangle;

constexpr double curvature_tolerance = 1e-10;

/// Cotangents of the corners of a triangle, and the parts of its area that belong to them.
struct Corners {
  std::array<double, 3> cotangent, area;
};

Corners corners_of(const Point& a, const Point& b, const Point& c) {
  Corners out;
  const std::array<Point, 3> x{a, b, c};
  const double twice = mesh::area_vector(a, b, c).norm();
  std::size_t obtuse = 3;
  for (std::size_t k = 0; k < 3; ++k) {
    const double along = (x[(k + 1) % 3] - x[k]).dot(x[(k + 2) % 3] - x[k]);
    out.cotangent[k] = along / twice;
    if (along < 0) obtuse = k;
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t i = (k + 1) % 3, j = (k + 2) % 3;
    out.area[k] = obtuse < 3
                      ? twice / (obtuse == k ? 4 : 8)
                      : ((x[k] - x[i]).squaredNorm() * out.cotangent[j] + (x[k] - x[j]).squaredNorm() * out.cotangent[i]) / 8;
  }
  return out;
}

bool has_area(const Point& a, const Point& b, const Point& c) { return mesh::area_vector(a, b, c).norm() > 0; }

}  // namespace

double curvature_velocity(const mesh::TriangleMeshView& surface, std::span<Point> out) {
  const std::span<const Point> x = surface.vertices;
  std::fill(out.begin(), out.end(), Point(Point::Zero()));
  std::vector<double> areas(x.size(), 0.0), weights(x.size(), 0.0);
  for (const Triangle& c : surface.triangles) {
    if (!has_area(x[c[0]], x[c[1]], x[c[2]])) continue;
    const Corners k = corners_of(x[c[0]], x[c[1]], x[c[2]]);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int32_t a = c[(i + 1) % 3], b = c[(i + 2) % 3];
      areas[c[i]] += k.area[i];
      // The edge opposite of the corner.
      const Point pull = k.cotangent[i] * (x[b] - x[a]);
      out[a] += pull;
      out[b] -= pull;
      weights[a] += k.cotangent[i];
      weights[b] += k.cotangent[i];
    }
  }
  const mesh::VertexStars<3> stars(surface.triangles, static_cast<Index>(x.size()));
  double largest = 0;
  for (std::size_t v = 0; v < x.size(); ++v) {
    if (!(areas[v] > 0) || has_rim(stars, static_cast<Index>(v))) {
      out[v] = Point::Zero();
      continue;
    }
    out[v] /= 2 * areas[v];
    largest = std::max(largest, weights[v] / (2 * areas[v]));
  }
  return largest;
}

int curvature_step(const mesh::TriangleMeshView& surface, double dt, std::span<const std::uint8_t> fixed, std::span<Point> out) {
  require(dt > 0 && std::isfinite(dt), "dt must be positive, not ", dt);
  const std::span<const Point> x = surface.vertices;
  const std::span<const Triangle> triangles = surface.triangles;
  const mesh::VertexStars<3> stars(triangles, static_cast<Index>(x.size()));
  std::vector<std::int32_t> number(x.size(), -1), vertices;
  for (std::size_t v = 0; v < x.size(); ++v)
    if (!has_rim(stars, static_cast<Index>(v)) && !stars.at(static_cast<Index>(v)).empty() && (fixed.empty() || fixed[v] == 0)) {
      number[v] = static_cast<std::int32_t>(vertices.size());
      vertices.push_back(static_cast<std::int32_t>(v));
    }
  std::copy(x.begin(), x.end(), out.begin());
  if (vertices.empty()) return 0;
  numerics::SparseSystem system;
  const std::size_t n = vertices.size();
  std::array<std::vector<double>, 3> right;
  for (auto& r : right) r.resize(n);
  auto& a = system.matrix;
  a.start.assign(n + 1, 0);
  a.columns = static_cast<Index>(n);
  std::vector<std::pair<std::int32_t, double>> row;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t v = vertices[i];
    double area = 0, diagonal = 0;
    row.clear();
    for (const std::int32_t corner : stars.at(v)) {
      const Triangle& c = triangles[corner / 3];
      const int k = corner % 3;
      if (!has_area(x[c[0]], x[c[1]], x[c[2]])) continue;
      const Corners parts = corners_of(x[c[0]], x[c[1]], x[c[2]]);
      area += parts.area[k];
      for (const int other : {(k + 1) % 3, (k + 2) % 3}) {
        const double w = dt * parts.cotangent[3 - k - other] / 2;
        diagonal += w;
        row.emplace_back(c[other], -w);
      }
    }
    std::sort(row.begin(), row.end());
    a.column.push_back(static_cast<std::int32_t>(i));
    a.value.push_back(area + diagonal);
    for (std::size_t d = 0; d < 3; ++d) right[d][i] = area * x[v][static_cast<Index>(d)];
    for (std::size_t j = 0; j < row.size();) {
      const std::int32_t w = row[j].first;
      double sum = 0;
      for (; j < row.size() && row[j].first == w; ++j) sum += row[j].second;
      if (number[w] >= 0) {
        a.column.push_back(number[w]);
        a.value.push_back(sum);
      } else {
        for (std::size_t d = 0; d < 3; ++d) right[d][i] -= sum * x[w][static_cast<Index>(d)];
      }
    }
    a.start[i + 1] = static_cast<Index>(a.column.size());
  }
  system.regions = {{0, static_cast<Index>(n), false}};
  system.prepare({});
  int iterations = 0;
  for (int d = 0; d < 3; ++d) {
    system.b = right[d];
    system.x.resize(n);
    for (std::size_t i = 0; i < n; ++i) system.x[i] = x[vertices[i]][d];
    numerics::SolveInfo info;
    numerics::SolveOptions options;
    options.tolerance = curvature_tolerance;
    system.solve(options, false, info);
    require(info.converged, "the step by curvature did not converge; a mesh with fewer thin triangles, or a shorter step, helps");
    iterations = std::max(iterations, static_cast<int>(info.iterations));
    for (std::size_t i = 0; i < n; ++i) out[vertices[i]][d] = system.x[i];
  }
  return iterations;
}

}  // namespace meniscus::surface
