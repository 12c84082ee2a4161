/// Geometric transport of volume fractions (volume of fluid): what leaves a cell is the liquid in the part of it that the flow
/// sweeps out, below a plane. Volume is conserved to rounding, whatever the velocity.
///
/// Source: Weymouth and Yue 2010, J. Comput. Phys. 229 (sweeps along one axis after the other whose compression cancels), here
/// beside solids, with a part of a cell open. A step is cut into substeps in which no cell is swept out more than by half.
#pragma once

#include "meniscus/surface/volume_of_fluid/open_space.hpp"

namespace meniscus::surface {

struct FractionTransport {
  Index substeps = 0;
  /// Volume that has left through the sides of the domain less what has come in, m^D.
  double outflow = 0;
  /// Largest part by which a cell is too full: the velocity presses liquid together there, and no neighbour has room.
  double overfull = 0;
};

/// Moves the liquid of `fractions` (on cells, parts of the open space of each) by a velocity (m/s, ghosts up to date) for dt (s).
/// What comes in through a side is as full as the ghosts say. `first_axis`: of the first sweep; callers alternate it. When
/// anything is thrown, the fractions are unchanged. Collective; the same bits on any threads and blocks.
template <class T, int D>
FractionTransport advect_fractions(grid::Field<double, D>& fractions, const grid::MacField<T, D>& velocity, double dt,
                                   int first_axis, const OpenSpace<D>& open, Workspace& workspace);

/// Volume of the liquid of all blocks, m^D.
template <int D>
double fraction_volume(const grid::Field<double, D>& fractions, const OpenSpace<D>& open);

}  // namespace meniscus::surface
