/// Advection of a particle level set: the level set in a band around its surface, and the marker particles.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/grid/transport/trace.hpp"

namespace meniscus::surface {

/// Advects the samples with |phi| < width (m) along the velocity for dt > 0 seconds by one semi-Lagrangian pass; the others keep
/// their values. The cost is that of the band, plus one reading of the field. Returns how many samples were carried. Nothing is
/// changed if anything is thrown: InvalidArgument for different grids or values that are not finite; Interrupted.
template <class T, int D>
Index advect_band(grid::Field<T, D>& phi, grid::MacField<T, D>& velocity, double dt, double width, grid::Trace trace,
                  grid::Interpolation interpolation, double time, Workspace& workspace);

struct MarkerAdvanceInfo {
  Index left = 0;      ///< removed: they left through a side that is no wall
  Index in_solid = 0;  ///< removed: too deep in the solid to be pushed out of it
  Index pushed = 0;    ///< pushed out of the solid
};

/// Advects particles along the velocity for dt seconds. Particles that cross a wall of the domain are put onto it, those that
/// cross another side are removed, and those that end in the solid (level set on the nodes, m, <= 0 inside; or nullptr) are
/// pushed out of it. `pushed_radius` (m; 0: none) becomes the column 'radius' of pushed particles, because they are no longer
/// where the flow would have carried them. Nothing is changed if anything is thrown.
template <class T, int D>
MarkerAdvanceInfo advance_markers(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt, grid::Trace trace,
                                  grid::Field<double, D>* solid, double pushed_radius, double time, Workspace& workspace);

}  // namespace meniscus::surface
