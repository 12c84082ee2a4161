/// Exact algebraic decision of contact between two moving elements: the last stage of continuous collision detection, for the few
/// queries that filters leave open.
///
/// With s = t / (1 - t) every moving difference of points is d0 + s d1, so the step is s in [0, infinity] and all polynomials are
/// integer combinations of the inputs. Elements touch at a root of the coplanarity cubic where the weights that join the two
/// elements have one sign. The weights are components of cross products, hence quadratics; their signs at a root of the cubic
/// follow from signed remainder sequences (Cauchy indices). Roots of cubics are kept apart by rational numbers in closed form, so
/// that the work is bounded, however close they lie.
///
/// Where the cubic vanishes identically, contact begins at the start or at a root of a weight; where all weights vanish too, at a
/// root of a coordinate.
#pragma once

#include "meniscus/collision/continuous/continuous_collision.hpp"

namespace meniscus::collision {

/// Decision of find_contacts for one pair of four points at both ends.
bool contact_by_algebra(PairKind kind, ContactMode mode, const std::array<mesh::Point, 4>& start,
                        const std::array<mesh::Point, 4>& end);

/// The largest multiple of 2^-bits (bits in 1 .. 1074) in [0, 1) that is earlier than the first contact, rounded down to a
/// double; 0 for contact at the start and infinity for none.
double first_contact_by_algebra(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end,
                                int bits);

}  // namespace meniscus::collision
