/// Momentum of a liquid, and face velocities that are drawn towards others. All of this is collective; arrays are those of the
/// block, momenta of the whole domain.
#pragma once

#include "meniscus/fluids/exchange/face_liquid.hpp"

namespace meniscus::fluids {

/// Volume of liquid around each face across `axis`, in cells; owned extents of that component. Fills the ghosts of the level set.
template <class T, int D>
void face_volumes(grid::Field<T, D>& levelset, const grid::Field<double, D>* solid, int axis, double* volumes);

/// Momentum of the liquid per density, m^(D + 1)/s: a face represents the liquid in half of each cell next to it. `solid`: its
/// level set on nodes, with ghosts up to date, or nullptr. Fills the ghosts of the level set.
template <class T, int D>
VectorSum liquid_momentum(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid);

/// Draws the velocity of each face towards a value by a weight, 0 to 1: u + w (v - u). Values and weights have the owned extents
/// of the components; a face with the weight 0 is left alone, and what is given for it is not read. Returns the momentum per
/// density that the liquid gains, m^(D + 1)/s. Throws InvalidArgument for other weights, and values that are not finite; then
/// nothing is changed.
template <class T, int D>
VectorSum blend_velocity(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid,
                         const std::array<const T*, D>& values, const std::array<const T*, D>& weights);

/// Gives a volume (m^D) with a velocity to the faces of a region (on cells, <= 0) that was filled: shares in proportion to the
/// liquid that has come to them since `before` (per axis as of `face_volumes`), or where none has come to any, to the liquid
/// around the faces of the region's cells. Each face takes the mean velocity by volume of the liquid before and of its share.
/// Fills the ghosts of the level set and the region.
template <class T, int D>
void give_to_region(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid,
                    grid::Field<T, D>& region, const std::array<const double*, D>& before, double volume,
                    const Vec<double, D>& given);

}  // namespace meniscus::fluids
