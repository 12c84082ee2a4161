/// A liquid and the air around it as two fluids: their velocities become one before they share a pressure.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Adds the velocity of the air to that of the liquid: every face gets their mean by mass along the line between the two cells
/// beside it, as the pressure solve weighs them. `air_density` is relative to that of the liquid. Fills the ghosts of the level
/// set (liquid where <= 0).
template <class T, int D>
void unite_velocities(grid::MacField<T, D>& velocity, const grid::MacField<T, D>& air, grid::Field<T, D>& levelset,
                      double air_density);

}  // namespace meniscus::fluids
