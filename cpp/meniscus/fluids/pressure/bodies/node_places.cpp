#include "meniscus/fluids/pressure/bodies/node_places.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <Eigen/LU>

#include <algorithm>
#include <map>

namespace meniscus::fluids {
namespace {

std::span<const mesh::Triangle> checked(std::span<const mesh::Triangle> triangles, std::size_t nodes) {
  for (const mesh::Triangle& t : triangles)
    for (const std::int32_t i : t)
      require(i >= 0 && i < static_cast<Index>(nodes), "a triangle of the surface has corner ", i, ", which is no node");
  require(!triangles.empty(), "a body needs a surface");
  return triangles;
}

mesh::Triangle sorted(mesh::Triangle t) {
  std::sort(t.begin(), t.end());
  return t;
}

}  // namespace

NodePlaces::NodePlaces(std::span<const mesh::Point> nodes, std::span<const mesh::Tet> tets,
                       std::span<const mesh::Triangle> surface)
    : nodes_(nodes.begin(), nodes.end()),
      tets_(tets.begin(), tets.end()),
      surface_(surface.begin(), surface.end()),
      locator_(nodes, tets, {}, true),
      tree_({nodes_, checked(surface_, nodes_.size())}) {
  std::map<mesh::Triangle, std::int32_t> of_face;
  for (std::size_t t = 0; t < tets_.size(); ++t)
    for (std::size_t k = 0; k < 4; ++k)
      of_face.try_emplace(sorted({tets_[t][(k + 1) % 4], tets_[t][(k + 2) % 4], tets_[t][(k + 3) % 4]}),
                          static_cast<std::int32_t>(t));
  for (const mesh::Triangle& t : surface_) {
    const auto found = of_face.find(sorted(t));
    behind_.push_back(found == of_face.end() ? -1 : found->second);
  }
}

void NodePlaces::move(std::span<const mesh::Point> nodes) {
  require(nodes.size() == nodes_.size(), "there must be ", nodes_.size(), " nodes, not ", nodes.size());
  std::copy(nodes.begin(), nodes.end(), nodes_.begin());
  locator_.move(nodes);
  tree_.refit({nodes_, surface_});
}

PlaceNodes NodePlaces::at(const mesh::Point& p) const {
  const collision::TetLocation found = locator_.locate(p, -1);
  if (found.tet < 0) return outside(p);
  return {tets_[found.tet], found.weights};
}

PlaceNodes NodePlaces::outside(const mesh::Point& p) const {
  const collision::MeshPoint closest = collision::closest_point(tree_, p);
  const mesh::Triangle& triangle = surface_[closest.triangle];
  PlaceNodes out;
  for (std::size_t k = 0; k < 3; ++k) {
    out.nodes[k] = triangle[k];
    out.weights[k] = closest.barycentric[static_cast<Eigen::Index>(k)];
  }
  out.nodes[3] = triangle[0];
  const std::int32_t tet = behind_[closest.triangle];
  if (tet < 0) return out;
  const auto far = std::find_if(tets_[tet].begin(), tets_[tet].end(),
                                [&](std::int32_t i) { return std::find(triangle.begin(), triangle.end(), i) == triangle.end(); });
  const mesh::Point &a = nodes_[triangle[0]], &b = nodes_[triangle[1]], &c = nodes_[triangle[2]], &apex = nodes_[*far];
  const mesh::Point normal = mesh::area_vector(a, b, c);
  const double height = normal.norm() > 0 ? std::abs(normal.dot(apex - a)) / normal.norm() : 0.0;
  const mesh::Point way = p - closest.position;
  const double length = way.norm();
  if (!(height > 0) || !(length > 0)) return out;
  Eigen::Matrix3d edges;
  edges << b - a, c - a, apex - a;
  const mesh::Point more = edges.inverse() * (std::min(1.0, reach * height / length) * way);
  if (!more.allFinite() || more.cwiseAbs().maxCoeff() > 1) return out;
  out.nodes[3] = *far;
  out.weights[0] -= more.sum();
  out.weights[1] += more[0];
  out.weights[2] += more[1];
  out.weights[3] = more[2];
  return out;
}

void NodePlaces::velocities(std::span<const mesh::Point> points, std::span<const mesh::Point> nodes, int axis,
                            std::span<double> out) const {
  parallel_for(0, static_cast<Index>(points.size()), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const PlaceNodes place = at(points[i]);
      double sum = 0;
      for (std::size_t k = 0; k < 4; ++k) sum += place.weights[k] * nodes[place.nodes[k]][axis];
      out[i] = sum;
    }
  });
}

}  // namespace meniscus::fluids
