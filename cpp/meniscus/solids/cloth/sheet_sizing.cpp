#include "meniscus/solids/cloth/sheet_sizing.hpp"

#include "meniscus/mesh/triangle_mesh.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

using mesh::Point;
using mesh::Triangle;

constexpr int grading_passes = 3;
/// Lengths that differ by directions have at most this ratio.
constexpr double most_aspect = 2.5;
/// Cloth that is compressed by this part along a direction is about to buckle there: edges are the shortest.
constexpr double most_compression = 0.02;

/// Calls f(a, b) for the edges of all triangles, those between two of them twice.
template <class F>
void for_edges(const mesh::TriangleMeshView& sheet, F&& f) {
  for (const Triangle& c : sheet.triangles)
    for (std::size_t k = 0; k < 3; ++k) f(c[k], c[(k + 1) % 3]);
}

std::vector<Point> vertex_normals(const mesh::TriangleMeshView& sheet) {
  std::vector<Point> normals(sheet.vertices.size(), Point::Zero());
  for (const Triangle& c : sheet.triangles) {
    const Point n = mesh::area_vector(sheet.vertices[c[0]], sheet.vertices[c[1]], sheet.vertices[c[2]]);
    for (const std::int32_t v : c) normals[v] += n;
  }
  for (Point& n : normals) {
    const double size = n.norm();
    if (size > 0) n /= size;
  }
  return normals;
}

/// By the largest curvature of the edges of each vertex.
void by_curvature(const mesh::TriangleMeshView& sheet, std::span<const RestPoint> rest, const SheetOptions& o,
                  std::vector<SheetMetric>& out) {
  const std::vector<Point> normals = vertex_normals(sheet);
  std::vector<double> length(sheet.vertices.size(), 0.0);
  for_edges(sheet, [&](std::int32_t a, std::int32_t b) {
    const Point p = sheet.vertices[b] - sheet.vertices[a];
    const double square = p.squaredNorm();
    if (!(square > 0)) return;
    for (const std::int32_t v : {a, b}) length[v] = std::max(length[v], std::abs(2 * normals[v].dot(p)) / square);
  });
  for (double& k : length) k = std::clamp(o.turn / std::max(k, 1e-300), o.shortest, o.longest);
  for (int pass = 0; pass < grading_passes; ++pass)
    for_edges(sheet, [&](std::int32_t a, std::int32_t b) {
      const double grow = o.grading * (rest[a] - rest[b]).norm();
      length[a] = std::min(length[a], length[b] + grow);
      length[b] = std::min(length[b], length[a] + grow);
    });
  for (std::size_t v = 0; v < length.size(); ++v) {
    const double inverse = 1 / (length[v] * length[v]);
    out[v] = {inverse, inverse, 0};
  }
}

Eigen::Matrix2d matrix_of(const SheetMetric& m) {
  Eigen::Matrix2d a;
  a << m.xx, m.xy, m.xy, m.yy;
  return a;
}

/// By the second fundamental form, which is that of the normals at vertices, and by compression.
void by_tensor(const mesh::TriangleMeshView& sheet, std::span<const RestPoint> rest, const SheetOptions& o,
               std::vector<SheetMetric>& out) {
  const std::vector<Point> normals = vertex_normals(sheet);
  std::vector<double> area(sheet.vertices.size(), 0.0);
  const double least = 1 / (o.longest * o.longest), most = 1 / (o.shortest * o.shortest);
  for (const Triangle& c : sheet.triangles) {
    Eigen::Matrix2d edges;
    edges << rest[c[1]] - rest[c[0]], rest[c[2]] - rest[c[0]];
    const double twice = edges.determinant();
    if (!(twice > 0)) continue;
    const Eigen::Matrix2d inverse = edges.inverse();
    Eigen::Matrix<double, 3, 2> across, along;
    across << normals[c[1]] - normals[c[0]], normals[c[2]] - normals[c[0]];
    along << sheet.vertices[c[1]] - sheet.vertices[c[0]], sheet.vertices[c[2]] - sheet.vertices[c[0]];
    const Eigen::Matrix<double, 3, 2> turn = across * inverse, gradient = along * inverse;
    Eigen::Matrix2d metric = turn.transpose() * turn / (o.turn * o.turn);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> strain(gradient.transpose() * gradient);
    for (int k = 0; k < 2; ++k) {
      const double pressed = 1 - std::sqrt(std::max(strain.eigenvalues()[k], 0.0));
      if (pressed > 0)
        metric += std::min(pressed / most_compression, 1.0) * most * strain.eigenvectors().col(k) *
                  strain.eigenvectors().col(k).transpose();
    }
    for (const std::int32_t v : c) {
      out[v] = out[v] + twice * SheetMetric{metric(0, 0), metric(1, 1), metric(0, 1)};
      area[v] += twice;
    }
  }
  for (std::size_t v = 0; v < out.size(); ++v) {
    if (area[v] > 0) out[v] = (1 / area[v]) * out[v];
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> solver(matrix_of(out[v]));
    Eigen::Vector2d values = solver.eigenvalues().cwiseMax(least).cwiseMin(most);
    values = values.cwiseMax(values.maxCoeff() / (most_aspect * most_aspect));
    const Eigen::Matrix2d m = solver.eigenvectors() * values.asDiagonal() * solver.eigenvectors().transpose();
    out[v] = {m(0, 0), m(1, 1), m(0, 1)};
  }
}

}  // namespace

void find_metrics(const mesh::TriangleMeshView& sheet, std::span<const RestPoint> rest, const SheetOptions& options,
                  std::vector<SheetMetric>& out) {
  out.assign(rest.size(), {});
  if (options.sizing == SheetSizing::curvature)
    by_curvature(sheet, rest, options, out);
  else
    by_tensor(sheet, rest, options, out);
}

double edge_size(SheetSizing sizing, const SheetMetric& a, const SheetMetric& b, const RestPoint& rest, double length) {
  if (sizing == SheetSizing::curvature) return 0.5 * length * (std::sqrt(a.xx) + std::sqrt(b.xx));
  return 0.5 * (std::sqrt(a.square(rest)) + std::sqrt(b.square(rest)));
}

}  // namespace meniscus::solids
