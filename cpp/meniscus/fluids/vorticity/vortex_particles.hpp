/// Vortex particles: points that carry a vorticity and a radius through the flow (Selle 2008, sections 3.3 and 3.4.1).
#pragma once

#include "meniscus/grid/particles/particle_boundary.hpp"
#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/grid/solid_boundary.hpp"
#include "meniscus/grid/transport/point_transport.hpp"

namespace meniscus::fluids {

/// Treatment of the magnitude of a vorticity that the flow stretches.
enum class Stretching {
  renormalize,  ///< kept: only the direction turns
  clamp,        ///< may shrink, never grow
  free,         ///< follows the flow; may grow without bound
};

/// Treatment of particles that leave the domain through a side that is not periodic.
enum class LeavingParticles {
  remove,
  clamp,  ///< moved to the nearest point of the domain
};

struct VortexAdvance {
  grid::Trace trace = grid::Trace::midpoint;
  Stretching stretching = Stretching::renormalize;
  grid::InSolid in_solid = grid::InSolid::remove;
  LeavingParticles leaving = LeavingParticles::remove;
};

/// The columns of vortex particles: float or double like the positions. `vorticity` has one value per particle in two dimensions,
/// three in three.
template <class T, int D>
struct VortexColumns {
  T* position;
  T* vorticity;
  T* radius;

  /// Throws WrongType for particles of another dimension or scalar, InvalidArgument where a column is missing.
  explicit VortexColumns(grid::ParticleSet& particles);
};

/// Moves the particles with the velocity for dt seconds and turns their vorticities by dw/dt = (w . grad) u, the gradient of u
/// from central differences at cell centres, interpolated linearly. With Trace::euler the turning is one explicit step with the
/// gradient at the start (as printed); else it is the midpoint rule, second order. In two dimensions vorticities do not change.
///
/// `solid` may be null. Nothing changes if anything is thrown: InvalidArgument for values
/// that are not finite; Interrupted.
template <class T, int D>
grid::FateCounts advance_vortex_particles(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt,
                                          const VortexAdvance& options, const grid::SolidBoundary<T, D>* solid, double time,
                                          Workspace& workspace);

/// values[i] = curl u at points[i] ((n, D), m): that of the cell centres, interpolated linearly. Ghosts must be up to date.
template <class T, int D>
void sample_vorticity(const grid::MacField<T, D>& velocity, const T* points, Index n, T* values);

}  // namespace meniscus::fluids
