/// Faces and cells around the surface of a liquid, from its level set on cells (<= 0 in the liquid).
///
/// Masks are one byte per owned cell or face, in C order.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// near[face] = whether a cell beside the face across `axis` is closer to the surface than
/// `distance` (m). Fills the ghosts of the level set.
template <class T, int D>
void near_surface_faces(grid::Field<T, D>& levelset, int axis, double distance, std::uint8_t* near);

/// air[cell] = whether the cell is air and closer to the surface than `distance` (m).
template <class T, int D>
void near_air_cells(const grid::Field<T, D>& levelset, double distance, std::uint8_t* air);

/// Kinetic energy of the liquid per density, m^(D + 2)/s^2: a face represents the liquid in half of each cell next to it.
/// `outside`: zero for cells in a solid, which hold none although the level set goes on there; or nullptr. Fills the ghosts of
/// the level set. Collective; of all blocks.
template <class T, int D>
double liquid_energy(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const std::uint8_t* outside);

/// out = the level set of the liquid outside of a solid (level set on nodes): the larger of its own value and minus the mean of
/// the solid's at the corners of the cell.
template <class T, int D>
void subtract_solid(const grid::Field<T, D>& levelset, const grid::Field<double, D>& solid, grid::Field<T, D>& out);

}  // namespace meniscus::fluids
