#include "meniscus/surface/meshing/feature_edges.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/mesh/topology/triangle_topology.hpp"
#include "meniscus/mesh/topology/vertex_stars.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

namespace meniscus {
namespace {

std::size_t z(std::int32_t i) { return static_cast<std::size_t>(i); }

double angle_between(const Point& a, const Point& b) { return std::atan2(a.cross(b).norm(), a.dot(b)); }

/// Normals of the triangles; of those without an area, zero.
std::vector<Point> normals_of(const TriangleMeshView& mesh) {
  std::vector<Point> n;
  for (const Triangle& t : mesh.triangles) {
    const Point& a = mesh.vertices[z(t[0])];
    const Point& b = mesh.vertices[z(t[1])];
    const Point& c = mesh.vertices[z(t[2])];
    n.push_back(has_no_area(a, b, c) ? Point(Point::Zero()) : area_vector(a, b, c).normalized());
  }
  return n;
}

class Groups {
 public:
  explicit Groups(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t i, std::size_t k) {
    const std::size_t a = find(i), b = find(k);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

FeatureEdges::FeatureEdges(const TriangleMeshView& mesh, double angle, double shortest) {
  require(angle > 0 && angle < std::numbers::pi, "the angle of sharp edges must be in (0, pi), but is ", angle);
  const TriangleTopology topology(mesh.triangles);
  const std::vector<Point> normal = normals_of(mesh);
  const auto x = [&](std::int32_t v) -> const Point& { return mesh.vertices[z(v)]; };
  for (std::size_t e = 0; e < topology.edges().size(); ++e) {
    const auto at = topology.triangles_at(static_cast<Index>(e));
    const bool sharp = at.size() != 2 || angle_between(normal[z(at[0])], normal[z(at[1])]) > angle;
    if (sharp && x(topology.edges()[e][0]) != x(topology.edges()[e][1])) edges_.push_back(topology.edges()[e]);
  }
  if (edges_.empty()) return;
  const VertexStars<2> stars(edges_, static_cast<Index>(mesh.vertices.size()));
  std::vector<bool> corner(mesh.vertices.size(), false);
  Groups groups(edges_.size());
  for (std::int32_t v = 0; v < static_cast<std::int32_t>(mesh.vertices.size()); ++v) {
    const auto at = stars.at(v);
    if (at.size() < 2) continue;
    const auto other = [&](std::int32_t c) { return x(edges_[z(c / 2)][z(1 - c % 2)]); };
    corner[z(v)] = at.size() > 2 || angle_between(other(at[0]) - x(v), x(v) - other(at[1])) > angle;
    if (!corner[z(v)]) groups.join(z(at[0] / 2), z(at[1] / 2));
  }
  std::vector<double> length(edges_.size(), 0.0);
  std::vector<int> ends(edges_.size(), 0);
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    length[groups.find(e)] += (x(edges_[e][0]) - x(edges_[e][1])).norm();
    for (const std::int32_t v : edges_[e]) ends[groups.find(e)] += corner[z(v)];
  }
  std::vector<std::int32_t> number(edges_.size(), -1);
  std::vector<Segment> kept;
  std::vector<Triangle> segments;
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const std::size_t g = groups.find(e);
    if (length[g] < shortest && ends[g] < 2) continue;
    if (number[g] < 0) number[g] = curves_++;
    kept.push_back(edges_[e]);
    curve_.push_back(number[g]);
    segments.push_back({edges_[e][0], edges_[e][1], edges_[e][1]});
  }
  edges_ = std::move(kept);
  if (edges_.empty()) return;
  tree_.emplace(TriangleMeshView{mesh.vertices, segments});
  // What was left out may leave a vertex with fewer edges than a corner has.
  const VertexStars<2> of_kept(edges_, static_cast<Index>(mesh.vertices.size()));
  for (std::int32_t v = 0; v < static_cast<std::int32_t>(mesh.vertices.size()); ++v)
    if (corner[z(v)] && of_kept.at(v).size() > 1) corners_.push_back(x(v));
}

FeaturePoint FeatureEdges::closest(const Point& p) const {
  const MeshPoint found = closest_point(*tree_, p);
  return {found.position, std::sqrt(found.squared_distance), curve_[z(found.triangle)]};
}

}  // namespace meniscus
