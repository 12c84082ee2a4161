/// Body forces: uniform accelerations, such as gravity.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Adds dt times an acceleration (m/s^2) to every face.
template <class T, int D>
void add_acceleration(grid::MacField<T, D>& velocity, const Vec<double, D>& acceleration, double dt);

}  // namespace meniscus::fluids
