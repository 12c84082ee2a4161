/// Oracle of the intersection of simplices in space and time, in GMP integers.
#pragma once

#include "meniscus/collision/continuous/simplex_pair.hpp"

namespace meniscus::oracle {

/// Whether the two simplices have a common point: whether weights that are not negative, and add up to one on either simplex,
/// make the same point of both. If so, they can be chosen on vertices whose columns are independent (Caratheodory), so the linear
/// system is solved for all columns, and where these are dependent, for all sets of fewer.
bool simplices_meet(const collision::SimplexPair& pair);

}  // namespace meniscus::oracle
