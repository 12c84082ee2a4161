/// Advection of a particle level set: the level set in a band around its surface, and the marker particles.
#pragma once

#include "meniscus/grid/particles/particle_boundary.hpp"
#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/grid/solid_boundary.hpp"
#include "meniscus/grid/transport/trace.hpp"

namespace meniscus::surface {

/// Advects the samples with |phi| < width (m) along the velocity for dt > 0 seconds by one semi-Lagrangian pass; the others keep
/// their values. The cost is that of the band, plus one reading of the field. Returns how many samples were carried. Nothing is
/// changed if anything is thrown: InvalidArgument for different grids or values that are not finite; Interrupted.
template <class T, int D>
Index advect_band(grid::Field<T, D>& phi, grid::MacField<T, D>& velocity, double dt, double width, grid::Trace trace,
                  grid::Interpolation interpolation, double time, Workspace& workspace);

/// Carries particles along the velocity for dt seconds. `pushed_radius` (m; 0: none): what the column 'radius' becomes of
/// particles that the solid has pushed: they are no longer where the flow would have them. Those that cross a wall of the domain
/// are put onto it, those that cross another side are removed, those that end in the solid (which
/// may be null) are pushed out of it. Nothing is changed if anything is thrown.
template <class T, int D>
grid::FateCounts advance_markers(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt, grid::Trace trace,
                                 grid::SolidBoundary<T, D>* solid, double pushed_radius, double time, Workspace& workspace);

}  // namespace meniscus::surface
