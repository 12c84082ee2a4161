#include "meniscus/solids/position/node_constraints.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

using Vector3 = Vec<double, 3>;

template <class T>
Vector3 position_of(const PositionNode<T>& p) {
  return {static_cast<double>(p.x), static_cast<double>(p.y), static_cast<double>(p.z)};
}

template <class T>
void add(PositionNode<T>& p, const Vector3& move) {
  p.x += static_cast<T>(move[0]);
  p.y += static_cast<T>(move[1]);
  p.z += static_cast<T>(move[2]);
}

void require_rows(std::span<const std::int32_t> rows, std::size_t nodes) {
  for (const std::int32_t n : rows)
    require(n >= 0 && static_cast<std::size_t>(n) < nodes, "node ", n, " does not exist; there are ", nodes);
}

}  // namespace

template <class T>
void project_targets(std::span<PositionNode<T>> nodes, const NodeTargets& given, const ProjectionRules& rules) {
  require(given.targets.size() == given.nodes.size() && given.multipliers.size() == given.nodes.size(),
          "there must be a target and a multiplier for each of ", given.nodes.size(), " nodes");
  require_rows(given.nodes, nodes.size());
  const double soft = given.compliance / (rules.dt * rules.dt);
  for (std::size_t i = 0; i < given.nodes.size(); ++i) {
    PositionNode<T>& p = nodes[given.nodes[i]];
    if (p.w == 0) continue;
    const auto w = static_cast<double>(p.w);
    const Vector3 change = (given.targets[i] - position_of(p) - soft * given.multipliers[i]) / (w + soft);
    given.multipliers[i] += change;
    add(p, rules.part * w * change);
  }
}

template <class T>
void project_planes(std::span<PositionNode<T>> nodes, std::span<const Vec<T, 3>> previous, std::span<const std::int32_t> rows,
                    std::span<NodePlane> planes, bool backward) {
  require(rows.size() == planes.size() && previous.size() == nodes.size(), "there must be a node for each plane");
  require_rows(rows, nodes.size());
  for (std::size_t turn = 0; turn < rows.size(); ++turn) {
    const std::size_t i = backward ? rows.size() - 1 - turn : turn;
    const Index n = rows[i];
    NodePlane& plane = planes[i];
    if (nodes[n].w == 0) continue;
    const Vector3 x = position_of(nodes[n]);
    const double gap = plane.normal.dot(x) - plane.offset;
    if (!(gap < 0)) continue;
    plane.pressed -= gap;
    Vector3 move = -gap * plane.normal;
    Vector3 slip = x - previous[n].template cast<double>() - plane.way;
    slip -= plane.normal.dot(slip) * plane.normal;
    Vector3 rubbed = plane.rubbed - slip;
    const double most = plane.friction * plane.pressed, size = rubbed.norm();
    if (size > most) rubbed *= most / size;
    move += rubbed - plane.rubbed;
    plane.rubbed = rubbed;
    add(nodes[n], move);
  }
}

template <class T>
void rebound_from_planes(std::span<const PositionNode<T>> nodes, std::span<const Vec<T, 3>> before,
                         std::span<Vec<T, 3>> velocities, std::span<const std::int32_t> rows, std::span<const NodePlane> planes,
                         double restitution, double threshold, double dt) {
  require(rows.size() == planes.size() && velocities.size() == nodes.size() && before.size() == nodes.size(),
          "there must be velocities of all nodes");
  require_rows(rows, nodes.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Index n = rows[i];
    const NodePlane& plane = planes[i];
    if (nodes[n].w == 0 || !(plane.pressed > 0)) continue;
    const double solid = plane.normal.dot(plane.way) / dt;
    const double came = plane.normal.dot(before[n].template cast<double>()) - solid;
    const double goes = plane.normal.dot(velocities[n].template cast<double>()) - solid;
    const double wanted = came < -threshold ? -restitution * came : 0.0;
    if (goes < wanted) velocities[n] += ((wanted - goes) * plane.normal).template cast<T>();
  }
}

#define MENISCUS_INSTANTIATE(T)                                                                                            \
  template void project_targets<T>(std::span<PositionNode<T>>, const NodeTargets&, const ProjectionRules&);                \
  template void project_planes<T>(std::span<PositionNode<T>>, std::span<const Vec<T, 3>>, std::span<const std::int32_t>,   \
                                  std::span<NodePlane>, bool);                                                             \
  template void rebound_from_planes<T>(std::span<const PositionNode<T>>, std::span<const Vec<T, 3>>, std::span<Vec<T, 3>>, \
                                       std::span<const std::int32_t>, std::span<const NodePlane>, double, double, double);
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::solids
