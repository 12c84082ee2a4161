/// Reach of traces beyond their blocks.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Collective: cells that a trace can lead beyond where it begins, which is up to `start` cells beyond a side of the domain.
/// `speed`: of the velocity and its filled ghosts, m/s; `cells_per_speed`: duration of the trace over h, s/m. Where the grid is
/// cut and traces go beyond the ghosts, values that are given there may be faster; where no bound is known, the result leads
/// through any domain.
template <class T, int D>
double trace_reach(const MacField<T, D>& velocity, double speed, double cells_per_speed, double start, double time);

}  // namespace meniscus::grid
