#include "meniscus/surface/meshing/surface_samples.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/surface/meshing/boundary_deviation.hpp"

#include <algorithm>
#include <utility>

namespace meniscus::surface {

SurfaceSamples::SurfaceSamples(const mesh::TriangleMeshView& surface, double spacing, const PointFilter& counts) {
  for (const mesh::Point& p : triangle_samples(surface, spacing))
    if (!counts || counts(p)) samples_.push_back({p});
}

std::vector<std::size_t> SurfaceSamples::far(const mesh::TetEditor& mesh, std::span<const int> touched, int round,
                                             double tolerance, double reach) {
  const std::vector<mesh::Triangle> faces = mesh.boundary();
  std::vector<mesh::Point> x;
  for (std::int32_t v = 0; v < static_cast<std::int32_t>(mesh.vertices()); ++v) x.push_back(mesh.position(v));
  const mesh::TriangleTree tree(mesh::TriangleMeshView{x, faces});
  const auto stamp = [&](std::int32_t v) { return touched[v]; };
  std::vector<std::pair<double, std::size_t>> found;
  std::int32_t slot = 0;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    Sample& s = samples_[i];
    // A sample that is near a face stays so until the face changes, and what has failed before fails again.
    if (std::max({stamp(s.face[0]), stamp(s.face[1]), stamp(s.face[2])}) < s.round) continue;
    s.round = round;
    if (collision::within_distance(tree, s.position, tolerance, slot)) {
      s.face = faces[tree.triangle(slot)];
      continue;
    }
    const collision::MeshPoint closest = collision::closest_point(tree, s.position, slot);
    slot = closest.slot;
    s.face = faces[closest.triangle];
    if (closest.squared_distance < reach * reach) found.push_back({-closest.squared_distance, i});
  }
  std::sort(found.begin(), found.end());
  std::vector<std::size_t> order;
  for (const auto& [distance, i] : found) order.push_back(i);
  return order;
}

}  // namespace meniscus::surface
