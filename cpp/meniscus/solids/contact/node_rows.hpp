/// Contacts of nodes with solids whose motion is given, one row each, and the velocity with which a node goes on: Coulomb
/// friction from what the normal part of an impulse is.
///
/// Source: Selle 2008, section 6.5 (function Gamma).
#pragma once

#include "meniscus/solids/node_fields.hpp"

#include <limits>
#include <vector>

namespace meniscus::solids {

/// Number of the solid in rows of surfaces on given paths.
inline constexpr std::int32_t mesh_solid = -1;

/// One contact.
struct NodeContact {
  std::int32_t node, solid;
  /// Out of the solid, of length 1.
  mesh::Point normal;
  /// Of the solid there, m/s.
  mesh::Point velocity;
  double friction;
  /// Whether the solve holds the node in all directions.
  bool sticking = false;
  /// Of a slipping node, relative to its mass and the length of the solve, see `BodyStep::set_drags`.
  double drag = 0;
  /// With which it slipped in the step before, m/s; NaN where there was no contact.
  double before = std::numeric_limits<double>::quiet_NaN();
};

/// What velocity solves do about friction, per row.
struct NodeHolds {
  std::vector<std::uint8_t> sticking;
  std::vector<double> drag;
};

/// Rows ordered by node, then by solid; a node has at most one row for each solid.
struct NodeRows {
  std::vector<std::int32_t> nodes, solids;
  std::vector<mesh::Point> normals, velocities;
  std::vector<double> friction;
  /// For this solve.
  NodeHolds holds;
  std::vector<double> before;

  /// Speed that gravity adds in a step, m/s.
  double fall = 0;

  // Of the last solve, as `judge_friction` finds it.
  /// With which nodes slip, m/s.
  std::vector<double> speed;
  /// Whether the row holds its node down.
  std::vector<std::uint8_t> pulled;
  /// For another solve of the same step, and for the first one of the next step.
  NodeHolds next, following;

  /// What solids have given to nodes in the step, N s.
  std::vector<mesh::Point> impulses;

  std::size_t size() const { return nodes.size(); }
  bool empty() const { return nodes.empty(); }

  void add(const NodeContact& c);
  NodeContact at(std::size_t row) const;

  /// Ends a list of rows: what solves find is as if they had found what the rows begin with.
  void complete();

  /// Whether the node of a row has other rows; these are left to their normals.
  bool shared(std::size_t row) const {
    return (row > 0 && nodes[row - 1] == nodes[row]) || (row + 1 < size() && nodes[row + 1] == nodes[row]);
  }

  /// Where rows of a node and a solid are, or would be.
  std::size_t find(std::int32_t node, std::int32_t solid) const;
  bool has(std::int32_t node, std::int32_t solid) const {
    const std::size_t row = find(node, solid);
    return row < size() && nodes[row] == node && solids[row] == solid;
  }
};

/// Both lists as one; they have no row of the same node and solid.
NodeRows joined(const NodeRows& a, const NodeRows& b);

/// The rows of solids, without those of surfaces on given paths.
NodeRows of_solids(const NodeRows& rows);

/// The velocity after contact, Gamma: not slower along the normal than the solid, and along the surface, relative to it, less by
/// at most the coefficient of friction times what the normal part has gained.
inline mesh::Point after_contact(const mesh::Point& normal, const mesh::Point& velocity, double friction, const mesh::Point& v) {
  const double along = normal.dot(v), given = normal.dot(velocity);
  if (along >= given) return v;
  const mesh::Point sliding = (v - velocity) - (along - given) * normal;
  const double speed = sliding.norm(), lost = friction * (given - along);
  const mesh::Point left = speed > lost ? mesh::Point((1 - lost / speed) * sliding) : mesh::Point(mesh::Point::Zero());
  return velocity + left;
}

/// Columns of rows, for functions that need no more.
struct NodeRowView {
  std::span<const std::int32_t> nodes;
  ConstPoints normals, velocities;
  std::span<const double> friction;

  NodeRowView(std::span<const std::int32_t> n, ConstPoints normal, ConstPoints velocity, std::span<const double> mu)
      : nodes(n), normals(normal), velocities(velocity), friction(mu) {}
  NodeRowView(const NodeRows& rows) : NodeRowView(rows.nodes, rows.normals, rows.velocities, rows.friction) {}
};

/// Applies `after_contact` to the velocities of all nodes in contact. The rows of a node follow each other, nodes ascend; where a
/// node has several, they take turns until none is violated.
void apply_contacts(const NodeRowView& rows, Points v);

/// The same for the rows of solids alone.
void apply_solids(const NodeRows& rows, Points v);

/// Takes from velocities that know no contact (v_NP) what they have along normals more than the solved ones: forces that pull a
/// node away from a solid which the solve held it at. That velocity is the result of one evaluation of forces, and with stiff
/// damping far more than the node would ever have; the node leaves in the next step, which does not find it in contact.
void press_only(const NodeRowView& rows, ConstPoints solved, Points loose);

/// Adds to the impulses of rows of solids what velocities have changed by, from `before`, one per row; only the first row of a
/// node counts.
void add_impulses(NodeRows& rows, ConstPoints before, ConstPoints v, std::span<const double> inverse_masses);

}  // namespace meniscus::solids
