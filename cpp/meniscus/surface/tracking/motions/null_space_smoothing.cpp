#include "meniscus/surface/tracking/motions/null_space_smoothing.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/surface/tracking/motions/vertex_rims.hpp"
#include "meniscus/surface/tracking/vertex_quadric.hpp"

namespace meniscus::surface {
namespace {

using mesh::Point;
using mesh::Triangle;

constexpr Index vertex_chunk = 512;
/// Scalar product of unit normals before and after, at least; vertices of triangles that turn farther stay.
constexpr double least_smooth_turn = 0.5;

/// Ways shorter than this part of the size of the triangles around are not taken: they would only blur the surface.
constexpr double least_smooth_way = 0.02;

}  // namespace

void smooth_positions(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed, double ridge,
                      std::span<Point> out) {
  const std::span<const Triangle> triangles = surface.triangles;
  const std::span<const Point> x = surface.vertices;
  const mesh::VertexStars<3> stars(triangles, static_cast<Index>(x.size()));
  const auto area_of = [&](std::int32_t t) {
    const Triangle& c = triangles[t];
    return mesh::area_vector(x[c[0]], x[c[1]], x[c[2]]);
  };
  parallel_for(0, static_cast<Index>(x.size()), vertex_chunk, [&](Index begin, Index end) {
    for (Index v = begin; v < end; ++v) {
      out[v] = x[v];
      if ((!fixed.empty() && fixed[v] != 0) || stars.at(v).empty() || has_rim(stars, v)) continue;
      Eigen::Matrix3d quadric = Eigen::Matrix3d::Zero();
      Point pull = Point::Zero(), normal = Point::Zero();
      double weight = 0;
      for (const std::int32_t c : stars.at(v)) {
        const Triangle& corners = triangles[c / 3];
        const Point area = area_of(c / 3);
        add_to_quadric(area, quadric);
        const double w = area.norm();
        pull += w * ((x[corners[0]] + x[corners[1]] + x[corners[2]]) / 3 - x[v]);
        normal += area;
        weight += w;
      }
      if (!(weight > 0)) continue;
      pull /= weight;
      const VertexQuadric q = split_quadric(quadric);
      const int rank = q.rank(ridge);
      Point way = Point::Zero();
      for (int k = rank; k < 3; ++k) way += q.vectors.col(k) * q.vectors.col(k).dot(pull);
      if (rank == 1 && normal.squaredNorm() > 0) way -= normal * (normal.dot(way) / normal.squaredNorm());
      // The area vectors add up to twice the area.
      const double size = weight / (2 * static_cast<double>(stars.at(v).size()));
      if (way.squaredNorm() > least_smooth_way * least_smooth_way * size) out[v] = x[v] + way;
    }
  });
  // What would turn triangles over stays.
  std::vector<std::uint8_t> turned(triangles.size(), 0);
  for (int pass = 0; pass < 10; ++pass) {
    const bool any = parallel_reduce(
        0, std::ssize(triangles), vertex_chunk, false,
        [&](Index begin, Index end) {
          bool found = false;
          for (Index t = begin; t < end; ++t) {
            const Triangle& c = triangles[t];
            const Point before = area_of(static_cast<std::int32_t>(t)),
                        after = mesh::area_vector(out[c[0]], out[c[1]], out[c[2]]);
            turned[t] = static_cast<std::uint8_t>(!(before.dot(after) >= least_smooth_turn * before.norm() * after.norm()) &&
                                                  (out[c[0]] != x[c[0]] || out[c[1]] != x[c[1]] || out[c[2]] != x[c[2]]));
            found |= turned[t] != 0;
          }
          return found;
        },
        [](bool a, bool b) { return a || b; });
    if (!any) break;
    parallel_for(0, std::ssize(x), vertex_chunk, [&](Index begin, Index end) {
      for (Index v = begin; v < end; ++v)
        if (std::ranges::any_of(stars.at(v), [&](std::int32_t c) { return turned[c / 3] != 0; })) out[v] = x[v];
    });
  }
}

}  // namespace meniscus::surface
