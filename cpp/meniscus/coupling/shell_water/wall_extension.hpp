/// Velocity of water continued into the air beside thin walls: from faces that are visible alone.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.4; Selle 2008, section 4.4.3.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::coupling {

/// Finds the values of a component anew where the ordinary extension may have looked through a wall: on faces no more than
/// `reach` cells from one, which are `known` and no `source`. In the order of phi, each takes the upwind mean of visible
/// neighbours of smaller phi that have a value (else the mean of all visible ones that have); what finds none becomes zero and is
/// not known. Blocked faces are neither. Masks have the extents of the component, C-ordered. Returns the number of faces.
template <class T, int D>
Index extend_past_walls(grid::Field<T, D>& component, int axis, const grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls,
                        const std::uint8_t* source, std::uint8_t* known, Index reach);

}  // namespace meniscus::coupling
