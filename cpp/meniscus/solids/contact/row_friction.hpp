/// Friction of nodes on solids within the velocity solve: which nodes stick, and which slip against it.
///
/// Friction after the solve stops a node, but not what hangs on it: where much is stiffly bound to few nodes on a solid, the node
/// would be dragged on in the next solve, and friction lost. So the solve knows friction, in one of three ways:
///
/// - nodes that stick are held in all directions;
/// - nodes that friction cannot hold slip against a drag: with the normal impulse N and the speed u of the solve before, mu N /
/// u,
///   so that force and speed agree as the solves go on. A drag takes energy whatever it is, and never turns a node around;
/// - nodes on which friction of a step is small against what they move with have it after the solve, as in the source.
///
/// What is stiffly bound holds each of its nodes: where few nodes stick, these hold all of it, and the others, which do not move,
/// stick again. So the nodes of a body on a solid are looked at together too: if friction needs a greater force on all of them
/// than it has, all slip; and where a body slides, a node that comes to the solid slips at first. Where much stands on few nodes,
/// all friction of these is in the solve: after it, it would stop light nodes again and again, and stiff elements would ring with
/// that and hop. Nodes that come back to the solid while others slip against a drag have none in their first step.
///
/// Source: own, on Selle 2008, section 6.5.
#pragma once

#include "meniscus/solids/contact/node_groups.hpp"
#include "meniscus/solids/contact/node_rows.hpp"

namespace meniscus::solids {

/// What decides between sticking and slipping where one solve is taken per stage.
struct FrictionRules {
  /// Part of the rows for whose change no solve is taken once more.
  double few = 0.02;
  /// Drag below which friction may as well come after the solve.
  double small_drag = 0.02;
  /// Speed of a node that begins to slip, relative to that which it would have if nothing were bound to it.
  double onset = 0.2;
  /// The greatest part of its friction that a node may lack, for the speed with which it begins to slip.
  double most_excess = 3;
  /// Factors by which speeds of slipping nodes may change within a step, if much is bound to them, and if not.
  double bound_change = 3, free_change = 10;
  /// Mean speed of what a node belongs to, above which nodes that come to a solid slip at first, relative to that which gravity
  /// adds in a step.
  double moving = 0.3;
  /// Least speed for which a node of what slides has its drag, relative to the mean one: it bounds the force while nodes shiver.
  double least_share = 0.3;
  /// Mass of what hangs together, relative to that of its nodes on a solid, above which all their friction is part of the solve.
  double carries = 1.5;
  /// Speed below which nodes that slip against a drag stick, relative to that which gravity adds in a step.
  double slow = 3e-3;
};

/// Begins rows that do not last from step to step: nodes stick that the rows have found stopped, or that do not move along their
/// solid at velocities v, or none. `fall`: speed that gravity adds in a step, m/s.
void begin_friction(NodeRows& rows, double fall, ConstPoints v, bool sticks);

/// Looks at a solve over the rows, and stores what the next one begins with; returns whether many rows change.
/// `solved`: the velocities found, m/s; `loose`: without the forces of contact; `end`: the latter at the end of the step.
bool judge_friction(NodeRows& rows, const NodeGroups& groups, const FrictionRules& rules, ConstPoints solved, ConstPoints loose,
                    ConstPoints end);

/// Lets contact act on velocities that know no contact; sticking nodes keep to the solid.
void finish_friction(const NodeRows& rows, Points v);

}  // namespace meniscus::solids
