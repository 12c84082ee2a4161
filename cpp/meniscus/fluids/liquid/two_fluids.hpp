/// A liquid and the air around it as two fluids: their velocities become one before they share a pressure.
///
/// Afterwards a face that hardly reaches into the liquid has gone along with the air: pressed out of a gap, it is as fast as
/// that. It tells nothing of the liquid, which would inherit its speed where it fills the gap, and bring new energy.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Adds the velocity of the air to that of the liquid: every face gets their mean by mass along the line between the two cells
/// beside it, as the pressure solve weighs them. `air_density` is relative to that of the liquid. Fills the ghosts of the level
/// set (liquid where <= 0).
template <class T, int D>
void unite_velocities(grid::MacField<T, D>& velocity, const grid::MacField<T, D>& air, grid::Field<T, D>& levelset,
                      double air_density);

/// mask[face] = whether at least half of the line between the two cells beside the face across `axis` is in the liquid. Owned
/// extents of that component. Fills the ghosts of the level set (liquid where <= 0).
template <class T, int D>
void mostly_liquid_faces(grid::Field<T, D>& levelset, int axis, std::uint8_t* mask);

}  // namespace meniscus::fluids
