/// Absorption of drops by a liquid: drops that meet it, and drops that gather in a cell, become liquid with their volume and
/// their momentum.
///
/// The surface moves out around a drop by its volume, under a smooth kernel; a common factor near one makes the volume of all
/// drops of a call exact. Momentum goes to the faces that keep their velocity, those beside liquid cells: each replaces a part
/// c k_f of its velocity by that of the drop, with a kernel k, such that sum_f m_f c k_f = V. The mass m_f is the mean of the
/// liquid fractions of the cells beside f. A face with liquid but without a liquid cell gets the mean that the extension into the
/// air will give it (`surface::extend`), and counts with that.
///
/// Each cell that holds drops of `gathered_fraction` of its volume becomes a ball of liquid of the same volume.
#pragma once

#include "meniscus/fluids/liquid/volume_budget.hpp"
#include "meniscus/grid/solid_boundary.hpp"
#include "meniscus/surface/markers/particle_spray.hpp"

namespace meniscus::fluids {

/// Part of a cell's volume that drops in it have when they become liquid.
inline constexpr double gathered_fraction = 0.75;

struct DropAbsorption {
  surface::Transfer joined;    ///< met the liquid
  surface::Transfer gathered;  ///< became liquid together
};

/// Fields of a liquid that absorbs drops.
template <class T, int D>
struct AbsorbingLiquid {
  grid::Field<T, D>& levelset;     ///< on cells
  grid::MacField<T, D>& velocity;  ///< m/s
  grid::ParticleSet& markers;  ///< of the level set; those that the surface passes are removed, the others near it get new radii
  grid::SolidBoundary<T, D>* solid;  ///< or nullptr
  grid::Field<T, D>& scratch;        ///< with the samples of the level set
  grid::Field<T, D>& fractions;      ///< with the samples of the level set
};

/// Makes liquid of the drops with phi <= radius and of those that gather; `budget` accounts for them. Nothing is changed if
/// anything is thrown.
template <class T, int D>
DropAbsorption absorb_drops(const AbsorbingLiquid<T, D>& liquid, grid::ParticleSet& drops, const surface::RadiusBounds& bounds,
                            VolumeBudget<D>& budget, double time, Workspace& workspace);

}  // namespace meniscus::fluids
