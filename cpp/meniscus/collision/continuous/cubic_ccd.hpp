/// Continuous collision detection by roots of a cubic in floating point with a tolerance, for comparison.
///
/// Four moving points are coplanar at the roots of a cubic. The elements touch if at a root, or where the cubic comes near zero,
/// or at either end of the step, their distance is at most the tolerance. Where the cubic is zero up to the tolerance for the
/// whole step, elements can only begin to touch where a vertex passes an edge or meets another vertex, so the roots of these
/// quadratics and linear functions are tried as well.
///
/// No contact is missed, at any ratio of motion to size: what no root has shown to be a contact is proved to be none. Over a
/// piece of the step, either the cubic has one sign in spite of its round-off, or a direction separates the elements at both
/// ends; other pieces are halved, and what is left counts as contact (moving_pair.hpp has the bounds).
///
/// Limits: elements that pass each other within the tolerance, or within round-off, 2^-44 of their motion relative to each other,
/// are reported, and the number of crossings is unknown.
///
/// Sources: Provot, "Collision and self-collision handling in cloth model dedicated to design garments", 1997; Bridson, Fedkiw
/// and Anderson, "Robust treatment of collisions, contact and friction for cloth animation", 2002; Brochu 2012, section 4.2.1;
/// Selle 2008, section 6.3.
#pragma once

#include "meniscus/collision/continuous/continuous_collision.hpp"

namespace meniscus::collision {

/// The time of the first contact found, infinity for none. `tolerance` >= 0 is a fraction of the larger extent of the two
/// elements along an axis, at the start or the end of the step.
double cubic_contact(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end, double tolerance);

}  // namespace meniscus::collision
