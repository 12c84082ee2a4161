/// Level set of the liquid that a set of particles represents, near its surface.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::fluids {

enum class ParticleSurface {
  spheres,      ///< the union of spheres around the particles
  average,      ///< |x - mean of positions| - radius, weighted by (1 - (r / support)^2)^3 (Zhu and Bridson 2005)
  density,      ///< where the particles are half as dense as in full cells (`density_surface.hpp`)
  anisotropic,  ///< a sum of kernels that are stretched like the neighbourhoods of particles (Yu and Turk 2013)
};

struct ParticleSurfaceOptions {
  ParticleSurface method = ParticleSurface::average;
  /// Radius of the spheres, or the length subtracted from the averaged distance, m.
  double radius = 0.0;
  /// Support of the weights of the average; for anisotropic kernels, radius of the neighbourhood of a particle (twice the
  /// smoothing length); m. At most 8 cells.
  double support = 0.0;
  /// The level set ends at +-band, m; at most 8 cells with spheres.
  double band = 0.0;
  /// A cell that contains a particle, and neither is liquid nor touches liquid, becomes liquid, as if the particle were a sphere
  /// that covers its cell; with densities, as thin as can be. So no drop is lost.
  bool cover = false;
  /// Fit a linear function to the distances that the particles carry (column 'distance'), where enough of them are around.
  bool carried = false;
  /// Particles of a full cell, for densities.
  double per_cell = 1 << 3;
};

/// Sets a field on cells to the level set (m, <= 0 in the liquid). The particles are sorted by cell. Sides that are not periodic
/// are mirrors, so that the surface meets them at a right angle.
///
/// The value is an exact distance outside of spheres, and nearly a distance for the average. For anisotropic kernels it is, to
/// first order, the distance to the surface where the sum is 1/2. The field is unchanged if anything is thrown: InvalidArgument
/// for options out of range and positions that are not finite; Interrupted. `walls`: cells see the particles on their side of
/// them alone; for densities and the average; nullptr: there are none. `solid`: level set on nodes: densities are those of what
/// it leaves of the space; nullptr: there is none.
template <class T, int D>
void particle_levelset(grid::ParticleSet& particles, grid::Field<T, D>& phi, const ParticleSurfaceOptions& options,
                       Workspace& workspace, const grid::ThinWalls<D>* walls = nullptr,
                       const grid::Field<double, D>* solid = nullptr);

}  // namespace meniscus::fluids
