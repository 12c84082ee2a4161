/// Velocity solves of a step in which nodes touch solids, and what contact does with positions and velocities around them.
///
/// Source: Selle 2008, section 6.5; friction within the solve: see `row_friction.hpp`.
#pragma once

#include "meniscus/solids/contact/row_friction.hpp"
#include "meniscus/solids/integrators/integrators.hpp"

namespace meniscus::solids {

/// Nodes of a step, by arrays over all of them.
struct RowSolve {
  BodyStep& step;
  const NodeGroups& groups;
  const FrictionRules& rules;
  const StepOptions& options;
  /// Of the solve, and over which elastic forces change, s.
  double h, elastic_dt;
  /// How often it is taken once more at most, until friction is that of the law.
  Index again;
  /// Whether a solve that has not converged is the last one.
  bool stops_unconverged;
};

struct RowSolveReport {
  std::vector<numerics::SolveInfo> solves;
  bool used_definite_tangent = false;
};

/// Finds the velocities v that positions go with where nodes rest, and those without the forces of contact: see `solve_velocity`.
/// On entry v are the prescribed ones and a first guess. `rubs`: with friction after the solve.
void predict_with_rows(const RowSolve& solve, NodeRows& rows, ConstPoints x0, ConstPoints v0, bool rubs, Points v, Points loose,
                       RowSolveReport& report);

/// Finds the velocities v in the middle of a step, or at its end for `backward`, and those without the forces of contact, from
/// v_star at its start. `stopped`: nodes that go up are held along normals too: they would lift what presses on them, and give it
/// energy.
void solve_with_rows(const RowSolve& solve, NodeRows& rows, ConstPoints x, ConstPoints v_star, bool backward, bool stopped,
                     Points v, Points loose, RowSolveReport& report);

/// Holds the nodes that repulsion has pushed, those whose velocities differ from the predicted ones, in all directions, beside
/// those of the rows; false, with nothing changed, where there are none.
bool hold_pushed(BodyStep& step, const NodeRows& rows, ConstPoints predicted, Points v);

/// Starts the second half of a step: the velocities v_star after contact, from v0; ways across planes in which nodes slide are
/// those without contact.
void collide_rows(BodyStep& step, const NodeRows& rows, ConstPoints x0, ConstPoints v0, Points x1, Points v_star);

/// Lets solids act on the velocities at the end: they hold against what goes into them, and friction follows from that. Impulses
/// are those of velocities that v_star began with.
void slide_rows(BodyStep& step, NodeRows& rows, const NodeGroups& groups, ConstPoints v0, ConstPoints v_star, Points v1);

/// Lets solids act on what surfaces have pressed onto nodes at the end.
void press_rows(BodyStep& step, NodeRows& rows, const NodeGroups& groups, Points v1);

}  // namespace meniscus::solids
