/// Constraints of single nodes: places that pull at them, and planes that they stay above, with friction.
///
/// Sources: Müller, Heidelberger, Hennix and Ratcliff, "Position based dynamics", 2006, sections 3.3 and 3.4 (planes where nodes
/// enter solids, restitution, friction); Macklin, Müller, Chentanez and Kim, "Unified particle physics for real-time
/// applications", 2014, section 6.1 (friction by positions). The bound of friction is that of the whole step here.
#pragma once

#include "meniscus/solids/position/position_nodes.hpp"

namespace meniscus::solids {

/// Nodes, each once, and where they are pulled to, m; `multipliers` are those of the step so far.
struct NodeTargets {
  std::span<const std::int32_t> nodes;
  std::span<const Vec<double, 3>> targets;
  std::span<Vec<double, 3>> multipliers;
  double compliance;  ///< m/N
};

template <class T>
void project_targets(std::span<PositionNode<T>> nodes, const NodeTargets& given, const ProjectionRules& rules);

/// A plane that a node stays above.
struct NodePlane {
  Vec<double, 3> normal;
  /// Least n . x, m.
  double offset;
  /// Of the solid over the step, m.
  Vec<double, 3> way;
  double friction;
  /// So far: sum of the corrections along the normal, m, and those against sliding.
  double pressed;
  Vec<double, 3> rubbed;
};

/// Projects nodes above planes in their order or backward, with Coulomb friction against the way from `previous`.
template <class T>
void project_planes(std::span<PositionNode<T>> nodes, std::span<const Vec<T, 3>> previous, std::span<const std::int32_t> rows,
                    std::span<NodePlane> planes, bool backward = false);

/// Reflects velocities of nodes that were pressed: the normal velocity against the solid becomes at least -restitution times that
/// of `before` where that was faster than `threshold` (m/s).
template <class T>
void rebound_from_planes(std::span<const PositionNode<T>> nodes, std::span<const Vec<T, 3>> before,
                         std::span<Vec<T, 3>> velocities, std::span<const std::int32_t> rows, std::span<const NodePlane> planes,
                         double restitution, double threshold, double dt);

}  // namespace meniscus::solids
