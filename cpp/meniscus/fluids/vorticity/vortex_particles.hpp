/// Vortex particles: points that carry a vorticity and a radius through the flow (Selle 2008, sections 3.3 and 3.4.1).
#pragma once

#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/grid/transport/point_transport.hpp"

namespace meniscus::fluids {

/// Treatment of the magnitude of a vorticity that the flow stretches.
enum class Stretching {
  renormalize,  ///< kept: only the direction turns
  clamp,        ///< may shrink, never grow
  free,         ///< follows the flow; may grow without bound
};

/// Treatment of particles that enter a solid.
enum class InSolid {
  remove,
  project,  ///< moved to the surface along the gradient of its level set, a distance; removed where that fails
};

/// Treatment of particles that leave the domain through a side that is not periodic.
enum class LeavingParticles {
  remove,
  clamp,  ///< moved to the nearest point of the domain
};

struct VortexAdvance {
  grid::Trace trace = grid::Trace::midpoint;
  Stretching stretching = Stretching::renormalize;
  InSolid in_solid = InSolid::remove;
  LeavingParticles leaving = LeavingParticles::remove;
};

struct VortexAdvanceInfo {
  Index left = 0;       ///< removed: outside of the domain
  Index in_solid = 0;   ///< removed: in the solid
  Index projected = 0;  ///< moved out of the solid
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
/// `solid`: a level set on nodes (<= 0 inside), or nullptr. Nothing changes if anything is thrown: InvalidArgument for values
/// that are not finite; Interrupted.
template <class T, int D>
VortexAdvanceInfo advance_vortex_particles(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt,
                                           const VortexAdvance& options, grid::Field<double, D>* solid, double time,
                                           Workspace& workspace);

/// values[i] = curl u at points[i] ((n, D), m): that of the cell centres, interpolated linearly. Ghosts must be up to date.
template <class T, int D>
void sample_vorticity(const grid::MacField<T, D>& velocity, const T* points, Index n, T* values);

}  // namespace meniscus::fluids
