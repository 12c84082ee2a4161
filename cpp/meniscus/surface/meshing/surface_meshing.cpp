#include "meniscus/surface/meshing/surface_meshing.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/mesh/intersection/embedded_mesh.hpp"
#include "meniscus/surface/meshing/feature_meshing.hpp"

#include <cmath>
#include <limits>

namespace meniscus::surface {
namespace {

mesh::TetTopology topology_of(const mesh::TetMeshData& mesh) {
  return mesh::TetTopology(mesh::VertexStars<4>(mesh.tets, static_cast<Index>(mesh.vertices.size())));
}

}  // namespace

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
  std::vector<mesh::Triangle> faces;
  for (const std::int32_t f : topology.boundary()) faces.push_back(topology.faces()[f]);
  const mesh::TriangleMeshView boundary{result.mesh.vertices, faces};
  const double least = 2 * deviation * fit.cell;
  result.deviation = largest_deviation(boundary, surface.tree(), 0.1 * fit.cell, least);
  // Parts that are left out are far away from the boundary.
  if (options.largest_part_only) return result;
  const Deviation back = largest_deviation(surface.mesh(), mesh::TriangleTree(boundary), 0.1 * fit.cell, least);
  if (back.distance > result.deviation.distance) result.deviation = back;
  return result;
}

}  // namespace meniscus::surface
