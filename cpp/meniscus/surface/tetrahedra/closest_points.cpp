#include "meniscus/surface/tetrahedra/closest_points.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace meniscus::surface {
namespace {

using mesh::Point;

constexpr Index point_chunk = 1024;
constexpr std::size_t closest_batch = std::size_t{1} << 16;

/// Corners of a regular tetrahedron around 0: a linear function has the gradient sum(f_k corner_k) / (4 step).
const std::array<Point, 4> star{Point(1, 1, 1), Point(1, -1, -1), Point(-1, 1, -1), Point(-1, -1, 1)};

/// The gradient of the distance at p, whose closest point is m.
Point gradient_at(const MeshDistance& distance, const Point& p, const collision::MeshPoint& m) {
  const double scale = std::max(distance.tree().largest_coordinate(), p.cwiseAbs().maxCoeff());
  const double phi = distance.signed_distance(p, m);
  if (std::abs(phi) > 1e-8 * scale) return (p - m.position) / phi;
  // On the surface to within round-off: the normal of the triangle, to the side that is outside.
  const auto& [a, b, c] = distance.tree().corners(m.slot);
  const Point area = mesh::area_vector(a, b, c);
  const double size = area.norm();
  if (!(size > 0)) return Point::UnitX();
  const Point normal = area / size;
  return distance.contains(m.position + 1e-6 * scale * normal) ? Point(-normal) : normal;
}

}  // namespace

void closest_points(const MeshDistance& distance, std::span<const Point> points, std::span<Point> closest,
                    std::span<Point> normals, std::span<std::int32_t> triangles, std::span<Point> barycentric) {
  parallel_for(0, static_cast<Index>(points.size()), 128, [&](Index begin, Index end) {
    std::int32_t hint = 0;
    for (Index i = begin; i < end; ++i) {
      const collision::MeshPoint m = distance.closest(points[i], hint);
      hint = m.slot;
      closest[i] = m.position;
      normals[i] = gradient_at(distance, points[i], m);
      triangles[i] = m.triangle;
      barycentric[i] = Point(m.barycentric[0], m.barycentric[1], m.barycentric[2]);
    }
  });
}

void closest_points(const SignedDistance& distance, std::span<const Point> points, double step, std::span<Point> closest,
                    std::span<Point> normals) {
  std::vector<Point> around;
  std::vector<double> values;
  for (std::size_t first = 0; first < points.size(); first += closest_batch) {
    const std::size_t count = std::min(closest_batch, points.size() - first);
    around.resize(4 * count);
    values.resize(4 * count);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < 4; ++k) around[4 * i + k] = points[first + i] + step * star[k];
    distance(around, values);
    parallel_for(0, static_cast<Index>(count), point_chunk, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        Point gradient = Point::Zero();
        double phi = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          gradient += values[4 * i + k] / (4 * step) * star[k];
          phi += 0.25 * values[4 * i + k];
        }
        const double slope = gradient.norm();
        normals[first + i] = slope > 0 ? Point(gradient / slope) : Point::UnitX();
        // A function that is no distance has another slope, but one near a ridge has a small one.
        closest[first + i] = points[first + i] - phi / std::max(slope, 0.5) * normals[first + i];
      }
    });
  }
}

}  // namespace meniscus::surface
