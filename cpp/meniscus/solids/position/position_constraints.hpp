/// Constraints of position based dynamics, and sweeps of projections over them.
///
/// Source: Müller, Stam, James and Thürey 2008, chapter 5.
#pragma once

#include "meniscus/solids/position/constraint_blocks.hpp"

#include <memory>

namespace meniscus::solids {

enum class PositionConstraintKind : std::int8_t {
  /// Rows of two nodes. Values: lower and upper limit of the distance (m), compliance (m/N) beyond and below; infinite: no
  /// effect.
  distance,
  /// Rows of four nodes. Values: four k (1/m), C at rest, compliance; C = |sum k_i x_i|^2 / 2.
  isometric_bending,
  /// Rows of four nodes, of two triangles (0, 1, 2) and (1, 0, 3) at an edge. Values: the signed angle at rest (rad), compliance
  /// (rad^2/J).
  dihedral_angle,
  /// As printed: rows of four nodes, triangles (0, 1, 2) and (0, 1, 3). Values: the angle acos(n1 . n2) at rest, compliance.
  printed_angle,
  /// Rows of four nodes. Values: volume at rest (m^3), factor of C (1/m^2), compliance.
  tet_volume,
  /// Rows of four nodes. Values: nine of the inverse of the edges at rest, two compliances, det F without hydrostatic stress: see
  /// `neo_hookean_lanes.hpp`. Each is two constraints.
  neo_hookean,
};

/// Numbers of nodes and values of a row.
int corners_of(PositionConstraintKind kind);
int values_of(PositionConstraintKind kind);

/// A constraint near the places of its nodes, for solvers of all at once.
struct LinearConstraint {
  double c = 0;
  /// Compliance over dt^2, and the multiplier so far.
  double soft = 1;
  double multiplier = 0;
  /// -1 where there are fewer than four.
  std::array<std::int32_t, 4> node{-1, -1, -1, -1};
  std::array<Vec<double, 3>, 4> gradient;
};

/// Constraints of one kind between nodes of T.
template <class T>
class PositionConstraints {
 public:
  virtual ~PositionConstraints() = default;

  /// Projects every constraint once, in the order of `ConstraintBlocks`, with the newest positions (Gauss-Seidel).
  virtual void project(std::span<PositionNode<T>> nodes, const ProjectionRules& rules) = 0;
  /// Projects every constraint once from the same positions, and then moves the nodes by the sums of the corrections (Jacobi). A
  /// correction is divided by the number of constraints at that of its nodes with the most, so that momentum is conserved.
  virtual void project_averaged(std::span<PositionNode<T>> nodes, const ProjectionRules& rules) = 0;
  /// Constraints that `linearise` writes; some of them are without effect.
  virtual Index rows() const = 0;
  /// Writes all constraints at the places of the nodes; the nodes of a row are always the same.
  virtual void linearise(std::span<const PositionNode<T>> nodes, const ProjectionRules& rules,
                         std::span<LinearConstraint> out) const = 0;
  /// Adds to the multipliers of the rows.
  virtual void add_multipliers(std::span<const double> changes) = 0;
  /// Begins a time step: all multipliers are zero.
  virtual void clear_multipliers() = 0;
  /// Colours that the constraints need.
  virtual Index colours() const = 0;
  virtual Index nbytes() const = 0;
};

/// Makes constraints from rows of nodes and of values. Throws InvalidArgument for rows of another length, nodes that do not exist
/// or stand twice in a row, and values that are NaN. Nodes that `fixed` marks never move.
template <class T>
std::unique_ptr<PositionConstraints<T>> make_position_constraints(PositionConstraintKind kind,
                                                                  std::span<const std::int32_t> nodes, std::span<const T> values,
                                                                  std::span<const std::uint8_t> fixed);

/// A closed surface whose volume is given.
struct ClosedVolume {
  /// Counter-clockwise as seen from outside.
  std::span<const std::array<std::int32_t, 3>> triangles;
  /// The nodes of the triangles, each once.
  std::span<const std::int32_t> nodes;
  double volume;      ///< m^3
  double compliance;  ///< m^6/J
};

/// Projects the volume, one constraint of all nodes, once. `multiplier` is that of the step so far; `gradient` is scratch memory,
/// one vector a node of the body. The bits do not depend on the number of threads.
template <class T>
void project_closed_volume(const ClosedVolume& surface, double& multiplier, std::span<PositionNode<T>> nodes,
                           std::span<Vec<double, 3>> gradient, const ProjectionRules& rules);

/// Begins a step: stores positions, adds dt times the acceleration (m/s^2) to the velocities of nodes that move, cuts them to
/// `max_speed` (m/s), and moves the nodes.
template <class T>
void predict_positions(std::span<PositionNode<T>> nodes, std::span<Vec<T, 3>> velocities, std::span<Vec<T, 3>> previous,
                       const Vec<double, 3>& acceleration, double dt, double max_speed);

/// Takes out of the ways from `reference` to the nodes the part that turns all nodes as one: afterwards sum m r x way = 0 around
/// the centre of the reference. Internal constraints exert no torque, but corrections one after the other, each along gradients
/// where the nodes are by then, add up to one of the second order in them: always the same in sweeps of the same order, by which
/// bodies in tension would spin faster and faster. All nodes must have finite masses. The part is an orthogonal projection in the
/// metric of masses: ways do not grow. The bits do not depend on the number of threads.
template <class T>
void remove_turn(std::span<PositionNode<T>> nodes, std::span<const Vec<T, 3>> reference);

/// Ends a step: velocities are the ways over dt, times `kept`.
template <class T>
void update_velocities(std::span<const PositionNode<T>> nodes, std::span<const Vec<T, 3>> previous,
                       std::span<Vec<T, 3>> velocities, double dt, double kept);

}  // namespace meniscus::solids
