/// Pockets of air that a liquid encloses. They keep their volume, so that their pressure is solved for with that of the liquid
/// (PressureProblem::solved_air); that of all other air is given.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// A pocket of fewer cells than a cube this wide is not resolved, and may collapse.
inline constexpr Index least_pocket_width = 2;
/// Distance from the surface, in cells, beyond which air must be connected for a pocket to open: a neck of about two cells.
inline constexpr double open_neck = 0.75;

/// Finds the pockets: air (levelset > 0, m, on cells) that no path through faces of cells leads out of. Outside is what reaches
/// an open side, or the largest connected part of the air if none does. `pockets` holds one byte per owned cell in C order: on
/// entry the pockets found before (zero: none), on return those found now. A pocket stays one while only necks of less than about
/// two cells lead out of it, so that a neck that opens and closes does not let its pressure go up and down.
///
/// `outside`: nonzero in cells outside of solids; null: everywhere. `scratch` is overwritten. Collective; returns the number of
/// cells in pockets of all blocks. Throws InvalidArgument for fields on different grids, or a level set that is not finite.
template <class T, int D>
Index find_air_pockets(const grid::Field<T, D>& levelset, const std::uint8_t* outside, const std::array<bool, 2 * D>& open_sides,
                       grid::Field<T, D>& scratch, std::uint8_t* pockets, Workspace& workspace);

}  // namespace meniscus::fluids
