/// Linear functions fitted to the distances that particles carry, at the centres of cells.
///
/// All particles of a cell have the same weight, a product of weights along the axes: (1 - (o / support)^2)^3 for cells that are
/// o apart, with a support of half a cell more than the reach. A fit needs moments of the particles only. Those of a cell serve
/// all cells around it, and are summed along one axis after the other.
#pragma once

#include "meniscus/fluids/particles/block_cells.hpp"
#include "meniscus/fluids/particles/particle_sides.hpp"

namespace meniscus::fluids {

/// Value of a fit at the centre of a cell; exact where distances are linear in position, on one side of a solid too. In cells.
struct DistanceFit {
  /// From 0 to 1: whether there are particles along all axes, that agree on a function whose slope is that of a distance.
  double trust = 0.0;
  double value = 0.0;
};

/// Largest reach of a fit, in cells.
inline constexpr int max_fit_reach = 3;

/// Sets the fits of all cells of a block that are wanted (flags by place), from the particles in the cells within `reach` (2 or
/// 3) along each axis. Those behind a side take no part: mirrored, they would turn the surface there. `distances`: in cells.
template <int D>
void fit_distances(const grid::CellParticles<D>& particles, const double* distances, const BlockCells<D>& cells, int reach,
                   const std::uint8_t* wanted, DistanceFit* fits, Workspace& workspace);

/// A fit for one cell, which may not see all particles around, with weights (1 - (r / support)^2)^3 by distance and a support of
/// half a cell more than the reach: in two dimensions, where it takes little, and beside thin walls.
template <int D>
DistanceFit fit_distance(const grid::CellParticles<D>& particles, const double* distances, int reach, const Coord<D>& cell,
                         const CellSight<D>& sight);

}  // namespace meniscus::fluids
