/// Air in narrow gaps between two surfaces of a liquid, or between one and a wall.
///
/// The air is a continuation of the liquid, not a fluid of its own. Pressed out of a gap that closes, an incompressible one would
/// be as fast as the gap is long; liquid that flows in behind it would inherit that speed, and bring new energy. So its speed is
/// limited, and markers of air that cannot get out of the way of the liquid are removed at walls. Neither is in the literature;
/// docs/water.md has the figures.
///
/// A gap is where air does not lead away from the surface: no neighbour across an open face is farther from it. Masks are one
/// byte per owned cell or face, in C order. All functions fill the ghosts of the level set (m, on cells, <= 0 in the liquid).
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Limits the components of a velocity on faces of the cells `air` within two cells of a gap to `factor` times the largest
/// magnitude on `given` faces, whatever their axis, within two cells of the face, and all others to half as much again as the
/// largest of all: before a gap is one, the air that leaves it may be faster than any liquid. Given faces keep their velocity.
/// `bounds`, on cells, is scratch memory. Collective. Throws InvalidArgument for fields of different grids.
template <class T, int D>
void limit_air_speed(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const std::uint8_t* air,
                     const std::array<const std::uint8_t*, D>& given, double factor, grid::Field<T, D>& bounds);

/// region = -100 spacings in the cells of gaps that lie at a wall and closer to the surface than `distance` (m), else +100
/// spacings, so that radii of particles do not matter. Walls are `closed` faces (null: none) and the sides on which the velocity
/// is given.
template <class T, int D>
void mark_gaps_at_walls(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, double distance,
                        const std::array<const std::uint8_t*, D>& closed, grid::Field<T, D>& region);

}  // namespace meniscus::fluids
