/// How far traces leave their blocks.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Collective, for a velocity with filled ghosts on a grid that is cut: cells that traces of a step can lead beyond where they
/// begin, which is up to `start` cells beyond a side of the domain; `cells_per_speed`: |dt| / h, s/m. Beyond a side, boundary
/// values may be faster than all faces are. At most what leads around the whole domain.
template <class T, int D>
double trace_reach(const MacField<T, D>& velocity, double cells_per_speed, double start, double time);

}  // namespace meniscus::grid
