/// Faces and cells around the surface of a liquid, from its level set on cells (<= 0 in the liquid).
///
/// Masks are one byte per owned cell or face, in C order.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

#include <span>

namespace meniscus::fluids {

/// near[face] = whether a cell beside the face across `axis` is closer to the surface than
/// `distance` (m). Fills the ghosts of the level set.
template <class T, int D>
void near_surface_faces(grid::Field<T, D>& levelset, int axis, double distance, std::uint8_t* near);

/// air[cell] = whether the cell is air and closer to the surface than `distance` (m).
template <class T, int D>
void near_air_cells(const grid::Field<T, D>& levelset, double distance, std::uint8_t* air);

/// Air around a liquid whose velocity is to fit that of the liquid: its cells as of `near_air_cells`, and the faces that keep
/// their velocity, those of the liquid and the `closed` ones (masks of each axis; any number of them).
template <class T, int D>
void air_around_liquid(grid::Field<T, D>& levelset, double distance, std::span<const std::array<const std::uint8_t*, D>> closed,
                       std::uint8_t* air, const std::array<std::uint8_t*, D>& given);

/// Extends the velocity of a liquid into the air closer to its surface than `band` (m), constant along the normals, from the
/// faces of the liquid that are not `closed` (nullptr: none). Sets `liquid` to the faces of the liquid, and `known` to those with
/// a valid velocity now.
template <class T, int D>
void extend_from_liquid(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset,
                        const std::array<const std::uint8_t*, D>& closed, double band, const std::array<std::uint8_t*, D>& liquid,
                        const std::array<std::uint8_t*, D>& known, Workspace& workspace);

/// Kinetic energy of the liquid per density, m^(D + 2)/s^2: a face represents the liquid in half of each cell next to it.
/// `solid`: on nodes, with ghosts up to date, or nullptr; in it there is no liquid, although the level set goes on there. Fills
/// the ghosts of the level set. Collective; of all blocks.
template <class T, int D>
double liquid_energy(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid);

struct LiquidMotion {
  double energy = 0.0;     ///< as of `liquid_energy`
  double max_speed = 0.0;  ///< m/s, largest component on faces of the liquid; infinite if one of them is not finite
};

/// Motion of a liquid; sets `liquid` to its faces. Collective.
template <class T, int D>
LiquidMotion liquid_motion(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid,
                           const std::array<std::uint8_t*, D>& liquid);

}  // namespace meniscus::fluids
