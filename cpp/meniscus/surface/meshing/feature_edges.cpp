#include "meniscus/surface/meshing/feature_edges.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/mesh/topology/triangle_topology.hpp"
#include "meniscus/mesh/topology/vertex_stars.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

namespace meniscus::surface {
namespace {

double angle_between(const mesh::Point& a, const mesh::Point& b) { return std::atan2(a.cross(b).norm(), a.dot(b)); }

/// Normals of the triangles; of those without an area, zero.
std::vector<mesh::Point> normals_of(const mesh::TriangleMeshView& mesh) {
  std::vector<mesh::Point> n;
  for (const mesh::Triangle& t : mesh.triangles) {
    const mesh::Point& a = mesh.vertices[t[0]];
    const mesh::Point& b = mesh.vertices[t[1]];
    const mesh::Point& c = mesh.vertices[t[2]];
    n.push_back(mesh::has_no_area(a, b, c) ? mesh::Point(mesh::Point::Zero()) : mesh::area_vector(a, b, c).normalized());
  }
  return n;
}

}  // namespace

FeatureEdges::FeatureEdges(const mesh::TriangleMeshView& mesh, double angle, double shortest, const PointFilter& counts) {
  require(angle > 0 && angle < std::numbers::pi, "the angle of sharp edges must be in (0, pi), but is ", angle);
  const mesh::TriangleTopology topology(mesh.triangles);
  const std::vector<mesh::Point> normal = normals_of(mesh);
  const auto x = [&](std::int32_t v) -> const mesh::Point& { return mesh.vertices[v]; };
  for (std::size_t e = 0; e < topology.edges().size(); ++e) {
    const auto at = topology.triangles_at(static_cast<Index>(e));
    const bool sharp = at.size() != 2 || angle_between(normal[at[0]], normal[at[1]]) > angle;
    const auto [a, b] = topology.edges()[e];
    if (sharp && x(a) != x(b) && (!counts || counts(0.5 * x(a) + 0.5 * x(b)))) edges_.push_back({a, b});
  }
  if (edges_.empty()) return;
  const mesh::VertexStars<2> stars(edges_, static_cast<Index>(mesh.vertices.size()));
  std::vector<bool> corner(mesh.vertices.size(), false);
  numerics::DisjointSets<std::int32_t> groups(static_cast<Index>(edges_.size()));
  for (std::int32_t v = 0; v < static_cast<std::int32_t>(mesh.vertices.size()); ++v) {
    const auto at = stars.at(v);
    if (at.size() < 2) continue;
    const auto other = [&](std::int32_t c) { return x(edges_[c / 2][1 - c % 2]); };
    corner[v] = at.size() > 2 || angle_between(other(at[0]) - x(v), x(v) - other(at[1])) > angle;
    if (!corner[v]) groups.join(at[0] / 2, at[1] / 2);
  }
  std::vector<double> length(edges_.size(), 0.0);
  std::vector<int> ends(edges_.size(), 0);
  for (std::int32_t e = 0; e < groups.size(); ++e) {
    length[groups.root(e)] += (x(edges_[e][0]) - x(edges_[e][1])).norm();
    for (const std::int32_t v : edges_[e]) ends[groups.root(e)] += corner[v];
  }
  std::vector<std::int32_t> number(edges_.size(), -1);
  std::vector<mesh::Segment> kept;
  std::vector<mesh::Triangle> segments;
  for (std::int32_t e = 0; e < groups.size(); ++e) {
    const std::int32_t g = groups.root(e);
    if (length[g] < shortest && ends[g] < 2) continue;
    if (number[g] < 0) number[g] = curves_++;
    kept.push_back(edges_[e]);
    curve_.push_back(number[g]);
    segments.push_back({edges_[e][0], edges_[e][1], edges_[e][1]});
  }
  edges_ = std::move(kept);
  if (edges_.empty()) return;
  tree_.emplace(mesh::TriangleMeshView{mesh.vertices, segments});
  // After curves are left out, a vertex may have fewer edges than a corner needs.
  const mesh::VertexStars<2> of_kept(edges_, static_cast<Index>(mesh.vertices.size()));
  for (std::int32_t v = 0; v < static_cast<std::int32_t>(mesh.vertices.size()); ++v)
    if (corner[v] && of_kept.at(v).size() > 1) corners_.push_back(x(v));
}

FeaturePoint FeatureEdges::closest(const mesh::Point& p) const {
  const collision::MeshPoint found = collision::closest_point(*tree_, p);
  return {found.position, std::sqrt(found.squared_distance), curve_[found.triangle]};
}

}  // namespace meniscus::surface
