/// Radii of marker particles, from their distance to the surface.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::surface {

/// Bounds of the radii, in cells.
struct RadiusBounds {
  double least = 0.1;
  double most = 0.5;
};

/// Whose radius is read from the level set.
enum class RadiusOf {
  every,   ///< particle
  inside,  ///< those on their own side of the surface; who has escaped keeps his
  far,     ///< those with s phi(x) >= the largest radius
};

/// radius = s phi(x), within the bounds (Enright, Fedkiw, Ferziger and Mitchell 2002, section 3.5).
template <class T, int D>
void adjust_radii(grid::Field<T, D>& phi, grid::ParticleSet& particles, const RadiusBounds& bounds, RadiusOf which, double time,
                  Workspace& workspace);

/// The parts of a step before and after everything is carried.
enum class StretchedHalf { first, second };

/// Lets the radii follow the flow: the distance from a particle to a surface that is carried like itself grows by the strain
/// along the normal, dr/dt = r n . grad(u) n, here integrated for dt with frozen strain, r exp(dt n . grad(u) n), and kept within
/// the bounds. The normal is that of phi; the strain is a difference over one cell. A step is one half of it before everything is
/// carried, with phi a distance, and one after. Particles beyond the largest radius have that radius, which is no distance; those
/// nearer than twice that take part with s phi(x) of before, and may have more than the largest radius between the halves.
template <class T, int D>
void stretch_radii(grid::Field<T, D>& phi, grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt,
                   const RadiusBounds& bounds, StretchedHalf half_step, double time, Workspace& workspace);

}  // namespace meniscus::surface
