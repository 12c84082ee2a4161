#include "meniscus/surface/tracking/motions/normal_motion.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/topology/vertex_stars.hpp"
#include "meniscus/surface/tracking/vertex_quadric.hpp"

#include <cmath>
#include <limits>

namespace meniscus::surface {
namespace {

using mesh::Point;
using mesh::Triangle;

constexpr Index offset_chunk = 512;
/// Of the largest step.
constexpr double step_margin = 0.99;
/// Below, a face along the displacement would send the vertex to infinity.
constexpr double least_cosine = 0.1;

}  // namespace

void offset_faces(const mesh::TriangleMeshView& surface, std::span<const double> offsets, NormalMotion method, double ridge,
                  std::span<Point> out) {
  const std::span<const Point> x = surface.vertices;
  const std::span<const Triangle> triangles = surface.triangles;
  const mesh::VertexStars<3> stars(triangles, static_cast<Index>(x.size()));
  parallel_for(0, static_cast<Index>(x.size()), offset_chunk, [&](Index begin, Index end) {
    for (Index v = begin; v < end; ++v) {
      Eigen::Matrix3d quadric = Eigen::Matrix3d::Zero();
      Point right = Point::Zero(), normal = Point::Zero();
      double mean = 0, weights = 0;
      for (const std::int32_t corner : stars.at(v)) {
        const Triangle& c = triangles[corner / 3];
        const Point area = mesh::area_vector(x[c[0]], x[c[1]], x[c[2]]);
        add_to_quadric(area, quadric);
        right += area * (offsets[corner / 3] / 2);
        normal += area;
        mean += area.norm() * offsets[corner / 3];
        weights += area.norm();
      }
      out[v] = Point::Zero();
      if (!(weights > 0)) continue;
      mean /= weights;
      if (method == NormalMotion::vertices) {
        if (normal.squaredNorm() > 0) out[v] = mean * normal.normalized();
        continue;
      }
      const VertexQuadric q = split_quadric(quadric);
      const int rank = q.rank(ridge);
      if (rank == 1) {
        const Point along = q.vectors.col(0);
        out[v] = along * (along.dot(normal) < 0 ? -mean : mean);
        continue;
      }
      Point way = Point::Zero();
      for (int k = 0; k < rank; ++k) way += q.vectors.col(k) * (q.vectors.col(k).dot(right) / q.values[k]);
      const double size = way.norm();
      if (!(size > 0)) continue;
      way /= size;
      double sum = 0, total = 0;
      for (const std::int32_t corner : stars.at(v)) {
        const Triangle& c = triangles[corner / 3];
        const Point area = mesh::area_vector(x[c[0]], x[c[1]], x[c[2]]);
        const double w = area.norm();
        if (!(w > 0)) continue;
        const double offset = std::abs(offsets[corner / 3]);
        const double cosine = std::max(least_cosine, std::abs(way.dot(area)) / w);
        // A face towards whose middle the vertex moves gets smaller: it pushes the vertex as far as its plane goes.
        const bool closing = ((x[c[0]] + x[c[1]] + x[c[2]]) / 3 - x[v]).dot(way) > 0;
        const double weight = closing ? w * cosine * cosine : w;
        sum += weight * (closing ? offset / cosine : offset);
        total += weight;
      }
      out[v] = way * (sum / total);
    }
  });
}

double largest_step(const mesh::TriangleMeshView& surface, std::span<const Point> u) {
  const std::span<const Point> x = surface.vertices;
  const auto least = [](double a, double b) { return std::min(a, b); };
  const double found = parallel_reduce(
      0, surface.size(), 1024, 1.0,
      [&](Index begin, Index end) {
        double most = 1;
        for (Index t = begin; t < end; ++t) {
          const Triangle& c = surface.triangles[t];
          const Point e = x[c[1]] - x[c[0]], f = x[c[2]] - x[c[0]], g = u[c[1]] - u[c[0]], h = u[c[2]] - u[c[0]];
          const Point start = e.cross(f), first = g.cross(f) + e.cross(h), second = g.cross(h);
          // start . (start + s first + s^2 second) = 0.
          const double p = start.squaredNorm(), q = start.dot(first), r = start.dot(second);
          if (!(p > 0) || !(p + std::min(q, 0.0) + std::min(r, 0.0) < 0 || p + q + r <= 0 || r > 0)) continue;
          double root = std::numeric_limits<double>::infinity();
          const double square = q * q - 4 * r * p;
          if (square < 0) continue;
          // The stable form of the least positive root.
          const double half = -(q + std::copysign(std::sqrt(square), q)) / 2;
          for (const double s : {half != 0 ? p / half : root, r != 0 ? half / r : root})
            if (s > 0) root = std::min(root, s);
          if (root <= 1) most = std::min(most, step_margin * root);
        }
        return most;
      },
      least);
  return found;
}

}  // namespace meniscus::surface
