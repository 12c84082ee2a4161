/// Drops that gather where no liquid is, until they fill a cell and become liquid.
#pragma once

#include "meniscus/fluids/exchange/face_liquid.hpp"
#include "meniscus/grid/particles/particles.hpp"

#include <vector>

namespace meniscus::fluids {

/// Of all blocks, but for positions and volumes.
struct GatheredDrops {
  Index count = 0;
  double volume = 0.0;            ///< of their balls, m^D
  VectorSum momentum{};           ///< of them per density, m^(D + 1)/s
  std::vector<double> positions;  ///< centres of the cells of this block that they fill, (cells, D), m
  std::vector<double> volumes;    ///< that they bring to each, m^D
};

/// Collective: finds the cells of air that drops (columns 'velocity' and 'radius') fill: the volumes of those in it add up to
/// what the solid leaves of the cell. The drops of a cell with its centre in the solid count to the cell beside it that is
/// farthest outside. `region`, on cells, becomes the distance to these cells, m, near them, and `far` elsewhere; `gathered` (one
/// per drop) says which drops fill them; and the faces of the cells get the mean velocity by volume of the drops and the liquid
/// around them. Without such cells nothing is changed, nor if anything is thrown. `solid`: its level set on nodes, with
/// ghosts up to date, or nullptr. Fills the ghosts of the level set.
template <class T, int D>
GatheredDrops gather_drops(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid,
                           grid::ParticleSet& drops, double far, grid::Field<T, D>& region, std::uint8_t* gathered,
                           Workspace& workspace);

}  // namespace meniscus::fluids
