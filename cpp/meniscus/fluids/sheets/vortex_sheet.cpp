#include "meniscus/fluids/sheets/vortex_sheet.hpp"

#include "meniscus/core/parallel.hpp"

#include <Eigen/Geometry>

namespace meniscus::fluids {
namespace {
constexpr Index triangles_per_task = 4096;
}  // namespace

void sheet_vorticity(const SheetView& sheet, const mesh::TriangleTopology& topology, std::span<const double> circulation,
                     std::span<mesh::Point> vorticity, std::span<mesh::Point> centres) {
  parallel_for(0, std::ssize(sheet.triangles), triangles_per_task, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const mesh::Triangle& c = sheet.triangles[t];
      const auto& edges = topology.edges_of(t);
      mesh::Point sum = mesh::Point::Zero(), centre = mesh::Point::Zero();
      for (int k = 0; k < 3; ++k) {
        centre += sheet.points[c[k]];
        if (edges[k] >= 0) sum += circulation[edges[k]] * (sheet.points[c[(k + 1) % 3]] - sheet.points[c[k]]);
      }
      vorticity[t] = sum;
      centres[t] = centre / 3.0;
    }
  });
}

mesh::Point sheet_impulse(std::span<const mesh::Point> vorticity, std::span<const mesh::Point> centres) {
  return parallel_reduce(
      0, std::ssize(vorticity), triangles_per_task, mesh::Point(mesh::Point::Zero()),
      [&](Index begin, Index end) {
        mesh::Point sum = mesh::Point::Zero();
        for (Index t = begin; t < end; ++t) sum += 0.5 * centres[t].cross(vorticity[t]);
        return sum;
      },
      [](const mesh::Point& a, const mesh::Point& b) { return mesh::Point(a + b); });
}

double sheet_energy(const SheetView& sheet, const mesh::TriangleTopology& topology, std::span<const double> circulation,
                    std::span<const mesh::Point> velocity) {
  return parallel_reduce(
      0, std::ssize(sheet.triangles), triangles_per_task, 0.0,
      [&](Index begin, Index end) {
        double sum = 0.0;
        for (Index t = begin; t < end; ++t) {
          const mesh::Triangle& c = sheet.triangles[t];
          const auto& edges = topology.edges_of(t);
          if (edges[0] < 0) continue;
          const mesh::Point area = 0.5 * (sheet.points[c[1]] - sheet.points[c[0]]).cross(sheet.points[c[2]] - sheet.points[c[0]]);
          const double mean = (circulation[edges[0]] + circulation[edges[1]] + circulation[edges[2]]) / 3.0;
          sum -= 0.5 * mean * area.dot(velocity[t]);
        }
        return sum;
      },
      std::plus<>());
}

void buoyant_circulation(const mesh::TriangleTopology& topology, std::span<const double> at_vertices,
                         std::span<const double> at_middles, std::span<double> rate) {
  const auto edges = topology.edges();
  parallel_for(0, std::ssize(edges), triangles_per_task, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e)
      rate[e] = -(at_vertices[edges[e][0]] + 4.0 * at_middles[e] + at_vertices[edges[e][1]]) / 6.0;  // Simpson's rule
  });
}

mesh::Point potential_gradient(const std::array<mesh::Point, 3>& x, const std::array<double, 3>& edges) {
  const mesh::Point normal = (x[1] - x[0]).cross(x[2] - x[0]);
  const double square = normal.squaredNorm();
  if (square == 0.0) return mesh::Point::Zero();
  // The gradients of barycentric weights are normal x opposite edge over twice the area squared.
  mesh::Point sum = mesh::Point::Zero();
  for (int k = 0; k < 3; ++k) sum += -2.0 * edges[(k + 1) % 3] * normal.cross(x[(k + 2) % 3] - x[(k + 1) % 3]);
  return sum / square;
}

}  // namespace meniscus::fluids
