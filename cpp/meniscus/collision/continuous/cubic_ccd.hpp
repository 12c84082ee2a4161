/// Continuous collision detection by roots of a cubic in floating point with a tolerance, for comparison.
///
/// Four moving points are coplanar at the roots of a cubic. The elements touch if at a root, or where the cubic comes near zero,
/// or at either end of the step, their distance is at most the tolerance. Where the cubic is zero up to the tolerance for the
/// whole step, elements can only begin to touch where a vertex passes an edge or meets another vertex, so the roots of these
/// quadratics and linear functions are tried as well.
///
/// Limits: elements that pass each other within the tolerance are reported, and the number of crossings is unknown.
/// A contact is missed if round-off moves the root by more than the tolerance allows: near double and triple roots
/// at the rim of an element, and where the positions are so far from the origin that their differences have few
/// bits. Only exact methods are always safe.
///
/// Sources: Provot, "Collision and self-collision handling in cloth model dedicated to design garments", 1997; Bridson, Fedkiw
/// and Anderson, "Robust treatment of collisions, contact and friction for cloth animation", 2002; Brochu 2012, section 4.2.1;
/// Selle 2008, section 6.3.
#pragma once

#include "meniscus/collision/continuous/continuous_collision.hpp"

namespace meniscus::collision {

/// The time of the first contact found, infinity for none. `tolerance` >= 0 is a fraction of the largest extent of the eight
/// points.
double cubic_contact(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end, double tolerance);

}  // namespace meniscus::collision
