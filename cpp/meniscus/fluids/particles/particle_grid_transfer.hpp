/// Transfer of velocity from particles to a staggered grid and back: the
/// particle-in-cell methods PIC, FLIP and APIC.
///
/// Zhu and Bridson, "Animating sand as a fluid", 2005; Jiang, Schroeder, Selle, Teran and Stomakhin, "The affine particle-in-cell
/// method", 2015. Particles have a column "velocity" (D values, m/s). A column "affine" (D * D values, 1/s: row d is the gradient
/// of velocity component d) makes the transfers affine; a column "mass" (kg) gives the masses; without it all are equal.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::fluids {

/// known[d]: whether a face across axis d received any weight; owned extents of component d.
template <int D>
using FaceFlags = std::array<std::uint8_t*, D>;

/// Sets each face to the mean of the particles around it, with the weights of linear interpolation times the masses; faces
/// without any are zero. In the half cell beside a side that is not periodic, the outermost sample has the whole weight, so that
/// mass and momentum go to the grid completely.
///
/// `mass`: takes the mass at the faces (kg), or nullptr. The particles are sorted by cell. The velocity is unchanged if anything
/// is thrown: InvalidArgument for values that are not finite or masses that are not positive; Interrupted.
template <class T, int D>
void particles_to_grid(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, const FaceFlags<D>& known,
                       grid::MacField<T, D>* mass, Workspace& workspace);

/// Sets the velocity of each particle from that of the grid at its place, interpolated linearly with the boundary conditions as
/// of `time` (s): u(x) + ratio * (its velocity - before(x)); with ratio 1 the particle gets the change only (FLIP), with 0 the
/// velocity itself (PIC). A column "affine" gets the gradient of the interpolation at x (APIC).
///
/// `before`: the velocity on the grid right after the transfer from the particles; nullptr with ratio 0. Nothing changes if
/// anything is thrown: InvalidArgument for values that are not finite; Interrupted.
template <class T, int D>
void grid_to_particles(grid::MacField<T, D>& velocity, grid::MacField<T, D>* before, double ratio, double time,
                       grid::ParticleSet& particles, Workspace& workspace);

/// Sets cells to the number of particles per cell, spread with the weights of linear interpolation between centres; as above at
/// sides. The particles are sorted by cell.
template <class T, int D>
void particle_density(grid::ParticleSet& particles, grid::Field<T, D>& density, Workspace& workspace);

}  // namespace meniscus::fluids
