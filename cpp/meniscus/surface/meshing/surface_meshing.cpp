#include "meniscus/surface/meshing/surface_meshing.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/mesh/intersection/embedded_mesh.hpp"
#include "meniscus/mesh/quality/element_measure.hpp"
#include "meniscus/surface/meshing/feature_meshing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::surface {
namespace {

mesh::TetTopology topology_of(const mesh::TetMeshData& mesh) {
  return mesh::TetTopology(mesh::VertexStars<4>(mesh.tets, static_cast<Index>(mesh.vertices.size())));
}

/// A mesh with less of the volume than this has lost something that matters; coarse meshes of round bodies have more.
constexpr double least_volume_share = 0.75;

std::vector<mesh::Triangle> boundary_of(const mesh::TetTopology& topology) {
  std::vector<mesh::Triangle> faces;
  for (const std::int32_t f : topology.boundary()) faces.push_back(topology.faces()[f]);
  return faces;
}

/// Length of the way through the solid from a point of its surface, against the normal there, m; 0 where neither side is inside.
double thickness_at(const MeshDistance& surface, const mesh::Point& p, double step) {
  const collision::MeshPoint at = surface.closest(p);
  const mesh::TriangleMeshView mesh = surface.mesh();
  const mesh::Point n =
      mesh::area_vector(mesh.corner(at.triangle, 0), mesh.corner(at.triangle, 1), mesh.corner(at.triangle, 2)).stableNormalized();
  for (const double side : {-1.0, 1.0}) {
    double way = step;
    double phi = surface.signed_distance(p + side * way * n);
    if (phi >= 0) continue;
    // The far side is no nearer than the surface is.
    for (int k = 0; k < 200 && phi < 0; ++k) {
      way += std::max(-phi, step);
      phi = surface.signed_distance(p + side * way * n);
    }
    return way;
  }
  return 0;
}

}  // namespace

UnresolvedPart unresolved_part(const MeshDistance& surface, const mesh::TetMeshView& mesh, double cell, double reach) {
  const mesh::TetTopology topology(mesh::VertexStars<4>(mesh.tets, static_cast<Index>(mesh.vertices.size())));
  const std::vector<mesh::Triangle> faces = boundary_of(topology);
  const mesh::TriangleTree boundary(mesh::TriangleMeshView{mesh.vertices, faces});
  const PointFilter counts = boundary_filter(surface, cell);
  UnresolvedPart result;
  result.deviation = {std::numeric_limits<double>::infinity(), surface.mesh().corner(0, 0)};
  if (!faces.empty()) result.deviation = largest_deviation(surface.mesh(), boundary, 0.5 * cell, reach, counts);
  // Volumes of parts that overlap do not add up.
  if (!surface.overlaps())
    result.volume = mesh::enclosed_volume({mesh.vertices, faces}) / std::abs(mesh::enclosed_volume(surface.mesh()));
  if (result.deviation.distance == 0 && result.volume >= least_volume_share) return result;
  std::vector<mesh::Point> lost;
  std::int32_t slot = 0;
  for (const mesh::Point& p : triangle_samples(surface.mesh(), 0.5 * cell))
    if (faces.empty() || result.deviation.distance == 0 || !collision::within_distance(boundary, p, reach, slot))
      lost.push_back(p);
  constexpr std::size_t most = 400;
  std::vector<double> thickness;
  for (std::size_t i = 0; i < std::min(most, lost.size()); ++i) {
    const mesh::Point& p = lost[i * lost.size() / std::min(most, lost.size())];
    if (!counts || counts(p)) thickness.push_back(thickness_at(surface, p, 1e-3 * cell));
  }
  std::erase(thickness, 0.0);
  if (thickness.empty()) return result;
  // Along its rim a plate is as thick as it is wide, and at its tip a cone has no thickness.
  const auto quarter = thickness.begin() + static_cast<std::ptrdiff_t>(thickness.size() / 4);
  std::nth_element(thickness.begin(), quarter, thickness.end());
  result.thickness = *quarter;
  return result;
}

FittedMesh mesh_surface(const MeshDistance& surface, const Bounds<3>& box, const BccMeshOptions& options, double sharp_angle,
                        double deviation) {
  require(options.fit_surface && !std::isfinite(options.depth), "sharp edges are for meshes that are fitted and not hollow");
  require(surface.report().watertight(), "sharp edges need a watertight surface");
  FeatureMeshingOptions fit;
  fit.cell = options.cell / std::exp2(options.refinements);
  fit.sharp_angle = sharp_angle;
  fit.tolerance = deviation;
  const mesh::TetMeshData cut = mesh_level_set(
      [&](std::span<const mesh::Point> points, std::span<double> values) { surface.signed_distance(points, values); }, box,
      options);
  FittedMesh result{mesh_features(cut, surface, fit), {}};
  // No step has brought faces into contact, but it could have put one part of the solid into another without contact.
  if (!mesh::is_embedded(result.mesh.view(), topology_of(result.mesh))) result.mesh = cut;
  mesh::sort_along_curve(result.mesh);
  if (result.mesh.tets.empty()) {
    result.deviation = {std::numeric_limits<double>::infinity(), surface.mesh().corner(0, 0)};
    return result;
  }
  const mesh::TetTopology topology = topology_of(result.mesh);
  const std::vector<mesh::Triangle> faces = boundary_of(topology);
  const mesh::TriangleMeshView boundary{result.mesh.vertices, faces};
  const double least = 2 * deviation * fit.cell;
  result.deviation = largest_deviation(boundary, surface.tree(), 0.1 * fit.cell, least);
  // Parts that are left out are far away from the boundary.
  if (options.largest_part_only) return result;
  const Deviation back =
      largest_deviation(surface.mesh(), mesh::TriangleTree(boundary), 0.1 * fit.cell, least, boundary_filter(surface, fit.cell));
  if (back.distance > result.deviation.distance) result.deviation = back;
  return result;
}

}  // namespace meniscus::surface
