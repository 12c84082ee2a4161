/// Drops that become part of the liquid in which they are: their momentum goes to the velocity around them, their volume to
/// whoever makes room for it (room_for_drops.hpp).
///
/// A drop gives parts of itself to the faces beside liquid up to one cell away, in proportion to the liquid around them, and each
/// face takes the mean velocity by volume of its liquid and of all that it is given. So what drops have had, the liquid has
/// afterwards, with their volume added. Drops of one face give in the order of their cells and ids.
///
/// Source: Losasso, Talton, Kwatra and Fedkiw 2008, "Two-way coupled SPH and particle level set fluid simulation", section 4; Lee
/// 2018, section 3.4.
#pragma once

#include "meniscus/fluids/exchange/face_liquid.hpp"
#include "meniscus/grid/particles/particles.hpp"

#include <vector>

namespace meniscus::fluids {

/// Of all blocks, but for positions and volumes.
struct Absorption {
  Index count = 0;
  double volume = 0.0;            ///< of the balls, m^D
  VectorSum momentum{};           ///< of the drops per density, m^(D + 1)/s
  VectorSum impulse{};            ///< gained by the liquid that was there; the rest comes with the volume
  std::vector<double> positions;  ///< (n, D), m, of those of this block
  std::vector<double> volumes;    ///< (n,), m^D
};

/// Collective: absorbs the drops (columns 'velocity' and 'radius') whose centres are in the liquid, phi <= 0, and removes them.
/// Those with a component of the velocity that no face beside liquid could take stay. `solid`: its level set on nodes, with
/// ghosts up to date, or nullptr. Fills the ghosts of the level set. Nothing is changed if anything is thrown.
template <class T, int D>
Absorption absorb_drops(grid::MacField<T, D>& velocity, grid::Field<T, D>& phi, const grid::Field<double, D>* solid,
                        grid::ParticleSet& drops, double time, Workspace& workspace);

}  // namespace meniscus::fluids
