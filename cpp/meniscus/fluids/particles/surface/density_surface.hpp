/// Surface of a particle liquid by the density of its particles, relative to that of full cells.
///
/// The density at the centre of a cell is the number of particles, weighted by the hat function around the centre, divided by
/// what the open part of the space there holds when it is full. Below a plane across an axis it falls from one to zero over two
/// cells and is one half at the plane, so that it tells the distance to the surface; the second moment of the hat function is the
/// same along all directions, and so nearly is this fall. Cells that are full are liquid however their particles lie: a surface
/// from mean positions takes a heap of particles that is off the centre for the side of a liquid.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/fluids/particles/block_cells.hpp"
#include "meniscus/fluids/particles/particle_sides.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Signed distance to a plane surface, in cells from -1 to 1, that a relative density tells.
double distance_of_density(double density);

/// Sets sums[place] of the cells of a block that are wanted (flags by place) to the number of particles, and of their images
/// behind sides that are mirrors, weighted by the hat function around the centre of the cell.
template <int D>
void sum_hats(const grid::CellParticles<D>& particles, const BlockCells<D>& cells, const std::uint8_t* wanted, double* sums);

/// Open parts of the space around the centres of cells, each weighted by the hat function around the centre.
template <int D>
class OpenSpace {
 public:
  /// Collective. `solid`: level set on nodes; nullptr: there is none.
  OpenSpace(const BlockCells<D>& cells, const grid::SearchWindow<D>& window, const grid::Field<double, D>* solid,
            Workspace& workspace);

  /// Of a cell of the block at its place; at least a tenth: what solids leave less of has no density of its own.
  double around(const Coord<D>& cell, Index place, const CellSight<D>& sight) const;

 private:
  const BlockCells<D>& cells_;
  Workspace::Lease<double> open_;  ///< outside of the solid, by cell; empty without one
};

/// Sets a density on cells, in particles a cell, to what it is relative to the part of the space around that is outside of a
/// solid.
template <class T, int D>
void divide_by_open_space(grid::Field<T, D>& density, const grid::Field<double, D>& solid, Workspace& workspace);

}  // namespace meniscus::fluids
