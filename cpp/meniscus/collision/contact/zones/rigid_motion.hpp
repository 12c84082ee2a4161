/// Rigid motion of a group of nodes with the momentum and angular momentum that they have.
///
/// Sources: Bridson et al. 2002, section 7.3; Selle 2008, section 6.3 (pseudo-inverse of the inertia); Brochu 2012,
/// section 3.2.7.
#pragma once

#include "meniscus/collision/contact/contact_nodes.hpp"

#include <optional>

namespace meniscus::collision {

/// x -> centre + translation + R (x - centre), R by an angle about an axis of length 1.
struct RigidMotion {
  mesh::Point centre = mesh::Point::Zero();
  mesh::Point translation = mesh::Point::Zero();
  mesh::Point axis = mesh::Point::UnitX();
  double angle = 0;

  mesh::Point displacement(const mesh::Point& x) const;
};

/// Eigenvalues of the inertia below this part of the largest one count as zero: about such axes, a group that is a point or a
/// line does not turn.
constexpr double inertia_cutoff = 1e-10;

/// No group turns farther in a step, so that linear paths between start and end keep it free of contact: at time s they are the
/// map (1 - s) 1 + s R, which is regular for angles below a half turn.
constexpr double most_turn = 2.0;

/// The rigid motion with the linear and angular momentum of displacements u (per step) of nodes with masses 1 / inverse mass > 0.
RigidMotion rigid_motion(std::span<const std::int32_t> group, const ContactNodes& nodes, std::span<const mesh::Point> x,
                         std::span<const mesh::Point> u);

/// The rigid motion in which all nodes of the group have exactly the given displacements, to within `tolerance` (m); nothing if
/// there is none.
std::optional<RigidMotion> common_motion(std::span<const std::int32_t> group, std::span<const mesh::Point> x,
                                         std::span<const mesh::Point> u, double tolerance);

}  // namespace meniscus::collision
