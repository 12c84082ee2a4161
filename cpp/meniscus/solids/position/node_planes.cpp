#include "meniscus/solids/position/node_planes.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {

std::vector<mesh::Point> gathered(ConstPoints x, std::span<const std::int32_t> of) {
  std::vector<mesh::Point> at(of.size());
  nodes::each(static_cast<Index>(of.size()), [&](std::size_t k) { at[k] = x[of[k]]; });
  return at;
}

/// Nodes that end near a solid, and their distances (m) from it.
void find_near(const SolidObstacle& solid, ConstPoints end, std::span<const std::int32_t> movable, double slack,
               std::vector<std::int32_t>& near, std::vector<double>& phi) {
  const surface::Bounds<3> box = solid.bounds().grown(slack);
  near.clear();
  for (const std::int32_t i : movable)
    if ((end[i].array() >= box.lower.array()).all() && (end[i].array() <= box.upper.array()).all()) near.push_back(i);
  if (near.empty()) return;
  phi.resize(near.size());
  solid.ask(gathered(end, near), {phi, {}, {}});
  std::size_t kept = 0;
  for (std::size_t k = 0; k < near.size(); ++k)
    if (phi[k] < slack) {
      near[kept] = near[k];
      phi[kept++] = phi[k];
    }
  near.resize(kept);
  phi.resize(kept);
}

}  // namespace

NodePlanes find_planes(std::span<const SolidObstacle> solids, ConstPoints start, ConstPoints end,
                       std::span<const std::int32_t> movable, const PlaneRules& rules) {
  require(start.size() == end.size(), "there must be as many positions at the start as at the end");
  for (const std::int32_t i : movable)
    require(i >= 0 && std::cmp_less(i, end.size()), "node ", i, " does not exist: there are ", end.size());
  NodePlanes found;
  std::vector<std::int32_t> near;
  std::vector<double> phi, before, there;
  for (const SolidObstacle& solid : solids) {
    find_near(solid, end, movable, rules.slack, near, phi);
    if (near.empty()) continue;
    const std::size_t n = near.size(), first = found.planes.size();
    std::vector<mesh::Point> at = gathered(start, near), normals(n), velocities(n, mesh::Point::Zero());
    before.resize(n);
    there.resize(n);
    solid.ask(at, {before, {}, {}});
    nodes::each(static_cast<Index>(n), [&](std::size_t k) {
      const double part = phi[k] < 0 && before[k] > 0 ? before[k] / (before[k] - phi[k]) : 1.0;
      at[k] += part * (end[near[k]] - at[k]);
    });
    solid.ask(at, {there, normals, solid.solid->moves() ? std::span(velocities) : std::span<mesh::Point>()});
    found.nodes.insert(found.nodes.end(), near.begin(), near.end());
    found.planes.resize(first + n);
    nodes::each(static_cast<Index>(n), [&](std::size_t k) {
      const mesh::Point way = rules.dt * velocities[k];
      // Where the node was in the solid as this was at the start, to first order of its motion.
      const double depth = before[k] + normals[k].dot(way);
      const double least = normals[k].dot(at[k]) - there[k] + std::min(0.0, depth + rules.recovery * rules.dt);
      found.planes[first + k] = {normals[k], least, way, solid.friction, 0.0, mesh::Point::Zero()};
    });
  }
  return found;
}

}  // namespace meniscus::solids
