/// Friction of nodes on solids within the velocity solve: Coulomb's cone, found by an active set.
///
/// A row sticks, slips or lets go. With the force T along the surface that the solve has used, relative to mass and in the length
/// of the solve, the normal one N, and the speed u along the surface, the law is
///
///     T = P(T - r u),    P the projection onto the disc of radius mu N,
///
/// for any r > 0 (Alart and Curnier 1991). Where the argument is in the disc, the node sticks in the next solve: it is held in
/// all directions. Elsewhere it slips against a drag d, T = -d u, of
///
///     d = r mu N / (|T - r u| - mu N),
///
/// which is mu N / |u| once the law holds. A drag takes energy whatever it is, and never turns a node around. Solves are taken
/// once more until few rows break the law; their last state is what the next step begins with, so that one solve is enough while
/// nothing changes. What r is does not matter to that, but to how many solves it takes: for a node that lets go, the speed (|T| -
/// mu N) / r is a guess. The guess is that of all that hangs together with the node, by its mass over that of its nodes on the
/// solid, and of its stiffness.
///
/// What is stiffly bound holds each of its nodes: where few stick, these hold all of it, the others stick again, and the set
/// would change for ever. So the nodes of a body on a solid are looked at together, too: if friction needs a greater force on all
/// of them than it has, all slip, with the speed that all will have; and where all slip, their speeds change in the next solve as
/// by the same law that of a rigid body does, which is exact for one.
///
/// Nodes to which nothing is bound need no solve: the law holds for them after it, exactly.
///
/// Sources: Alart and Curnier, "A mixed formulation for frictional contact problems prone to Newton like solution methods", 1991;
/// Selle 2008, section 6.5; the drag and the groups are own.
#pragma once

#include "meniscus/solids/contact/node_groups.hpp"
#include "meniscus/solids/contact/node_rows.hpp"

namespace meniscus::solids {

/// How solves look for friction; the law that they find is Coulomb's whatever these are.
struct FrictionRules {
  /// Part of the rows that may break the law after the last solve of a stage.
  double few = 0.02;
  /// Relative error of the force of a row that slips, above which it breaks the law.
  double tolerance = 0.05;
  /// Relative force beyond the cone with which a node still sticks: what slips ever more slowly comes to rest.
  double slack = 0.01;
  /// Stiffness of a node that lets go, relative to that of a rigid body of all that hangs together with it.
  double response = 10;
  /// Speed in the next step, relative to that in this one: at least. Speeds go on as they have from the step before to this one.
  double least_speed = 1.0 / 3;
  /// Mass of what hangs together, relative to that of its nodes on a solid, above which it stands on them.
  double carries = 1.5;
};

/// Begins rows that do not last from step to step: nodes stick that the rows have found stopped, or that do not move along their
/// solid at velocities v, or none. `fall`: speed that gravity adds in a step, m/s.
void begin_friction(NodeRows& rows, double fall, ConstPoints v, bool sticks);

/// Looks at a solve over the rows, and stores what the next one begins with; returns whether too many rows break the law.
/// `solved`: the velocities found, m/s; `loose`: without the forces of contact; `end`: the latter at the end of the step.
bool judge_friction(NodeRows& rows, const NodeGroups& groups, const FrictionRules& rules, ConstPoints solved, ConstPoints loose,
                    ConstPoints end);

/// Lets contact act on velocities that know no contact; sticking nodes keep to the solid.
void finish_friction(const NodeRows& rows, Points v);

}  // namespace meniscus::solids
