/// Contacts that last: what a step knows of the contacts at the end of the one before.
#pragma once

#include "meniscus/solids/contact/row_friction.hpp"
#include "meniscus/solids/contact/solid_meeting.hpp"

#include <array>
#include <optional>

namespace meniscus::solids {

/// What nodes stand on of surfaces on given paths; nodes ascend.
struct MeshSupports {
  std::span<const std::int32_t> nodes;
  ConstPoints normals, velocities;
  std::span<const double> friction, gaps;
};

/// What nodes may stand on, at some time.
struct Grounds {
  std::span<const SolidObstacle> solids;
  MeshSupports meshes;
};

/// Contacts that hold nodes up, ordered by node.
struct RestingNodes {
  /// Node, number of the solid, and whether the node sticks.
  std::vector<std::array<std::int32_t, 3>> keys;
  /// Of nodes that slip against a drag, 1/s.
  std::vector<double> drag;
  /// How far they have moved in the step, m.
  std::vector<double> way;
  /// With which they slipped, m/s.
  std::vector<double> speed;
};

/// The same, of somebody else's.
struct RestingView {
  std::span<const std::array<std::int32_t, 3>> keys;
  std::span<const double> drag, way, speed;
};

/// The rows of a solve over h seconds that hold nodes up, with what the next solve begins with; x0 and x1 are positions in the
/// step.
RestingNodes resting_nodes(const NodeRows& rows, double h, ConstPoints x0, ConstPoints x1);

/// The rows of nodes that rest at the start of a step of dt seconds, for a first solve over h seconds. The velocity of a row is
/// that with which the node stays on the solid: a node above it comes down within the step. Nodes that are farther away than they
/// move in a step do not rest. `fall`: speed that gravity adds in the step, m/s.
NodeRows rows_at_rest(const Grounds& grounds, const RestingView& resting, ConstPoints x, ConstPoints v, double dt, double h,
                      double fall);

/// The rows with which a prediction is to be taken once more; nothing if it is not.
///
/// To stop a node on its way changes its place, but not that of what stands on it, which stores far more energy in stiff elements
/// than the node had. So it is held from the start, along the normal, at the velocity with which it has come just to the solid.
/// Likewise a node that the prediction has pulled down is let go. Where little else stands on the nodes, it makes no difference.
/// Cloth in folds does not press on its nodes like that, and would lose the friction of its positions.
///
/// `met`: rows found on the way of the nodes; `known`: of the prediction; x0, x1: positions in the step, after contact.
/// Source: own.
std::optional<NodeRows> rows_with_met(const NodeRows& met, const NodeRows& known, const NodeGroups& groups,
                                      const FrictionRules& rules, ConstPoints x0, ConstPoints x1, double dt);

/// The rows of a step: those that nodes have met, those of nodes that have come to surfaces on given paths and that velocities v
/// do not take away from them, and those of the prediction that hold nodes up. `grounds` and x are those at the end of the step.
NodeRows rows_with_resting(const NodeRows& met, const NodeRows& known, const Grounds& grounds, ConstPoints x, ConstPoints v);

}  // namespace meniscus::solids
