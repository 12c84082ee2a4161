#include "meniscus/surface/shapes/pseudo_normals.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

/// The direction of a sum of normals; zero where so much has cancelled that round-off decides it.
mesh::Point direction(const mesh::Point& sum) {
  const double length = sum.norm();
  return length > 1e-6 ? mesh::Point(sum / length) : mesh::Point(mesh::Point::Zero());
}

/// The unit normal of a triangle; zero where it is thinner than its normal can be trusted.
mesh::Point face_normal(const mesh::Point& a, const mesh::Point& b, const mesh::Point& c) {
  const mesh::Point area = mesh::area_vector(a, b, c);
  const double longest = std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
  const double length = area.norm();
  return length > 1e-12 * longest ? mesh::Point(area / length) : mesh::Point(mesh::Point::Zero());
}

}  // namespace

PseudoNormals::PseudoNormals(const mesh::TriangleMeshView& mesh, const mesh::TriangleTopology& topology,
                             std::span<const signed char> sides)
    : face_(mesh.triangles.size()), edge_(topology.edges().size()), vertex_(mesh.vertices.size(), mesh::Point::Zero()) {
  parallel_for(0, mesh.size(), 4096, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const mesh::Point n = face_normal(mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2));
      face_[t] = sides[t] < 0 ? mesh::Point(-n) : n;
    }
  });
  const auto known = [&](std::int32_t t) { return !face_[t].isZero(0); };
  parallel_for(0, static_cast<Index>(edge_.size()), 4096, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e) {
      mesh::Point sum = mesh::Point::Zero();
      bool all_known = true;
      for (const std::int32_t t : topology.triangles_at(e)) {
        sum += face_[t];
        all_known = all_known && known(t);
      }
      edge_[e] = all_known ? direction(sum) : mesh::Point(mesh::Point::Zero());
    }
  });
  std::vector<char> unknown(vertex_.size(), 0);
  for (Index t = 0; t < mesh.size(); ++t)
    for (int k = 0; k < 3; ++k) {
      const Index v = mesh.triangle(t)[k];
      if (!known(static_cast<std::int32_t>(t))) unknown[v] = 1;
      const mesh::Point to_next = mesh.corner(t, (k + 1) % 3) - mesh.corner(t, k);
      const mesh::Point to_last = mesh.corner(t, (k + 2) % 3) - mesh.corner(t, k);
      const double angle = std::atan2(to_next.cross(to_last).norm(), to_next.dot(to_last));
      vertex_[v] += angle * face_[t];
    }
  for (std::size_t v = 0; v < vertex_.size(); ++v)
    vertex_[v] = unknown[v] ? mesh::Point(mesh::Point::Zero()) : direction(vertex_[v]);
}

mesh::Point PseudoNormals::at(const collision::MeshPoint& closest, const mesh::Triangle& triangle,
                              const mesh::TriangleTopology& topology) const {
  const auto feature = static_cast<std::size_t>(closest.feature);
  if (closest.feature == collision::TriangleFeature::face) return face_[closest.triangle];
  if (feature < 3) return vertex_[triangle[feature]];
  const std::int32_t edge = topology.edges_of(closest.triangle)[feature - 3];
  return edge < 0 ? mesh::Point(mesh::Point::Zero()) : edge_[edge];
}

}  // namespace meniscus::surface
