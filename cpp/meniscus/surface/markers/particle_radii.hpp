/// Radii of marker particles, from their distance to the surface.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::surface {

/// Bounds of the radii, in cells.
struct RadiusBounds {
  double smallest = 0.1;
  double largest = 0.5;
};

/// Throws InvalidArgument unless the bounds are positive and ascending.
void check(const RadiusBounds& bounds);

/// Particles whose radius is set from the level set.
enum class RadiusOf {
  every,   ///< particle
  inside,  ///< those on their own side of the surface; who has escaped keeps his
  far,     ///< those with s phi(x) >= the largest radius
};

/// radius = s phi(x), within the bounds (Enright, Fedkiw, Ferziger and Mitchell 2002, section 3.5).
template <class T, int D>
void adjust_radii(grid::Field<T, D>& phi, grid::ParticleSet& particles, const RadiusBounds& bounds, RadiusOf which, double time,
                  Workspace& workspace);

/// The same with the values of phi at the particles.
template <class T, int D>
void set_radii(const T* values, grid::ParticleSet& particles, double spacing, const RadiusBounds& bounds, RadiusOf which);

/// The parts of a step before and after advection.
enum class StretchedHalf { first, second };

/// Stretches the radii with the flow. The distance from a particle to a surface that moves with the flow grows by the
/// strain along the normal, dr/dt = r n . grad(u) n. This is integrated for dt with constant strain, r exp(dt n .
/// grad(u) n), and clamped to the bounds. The normal is that of phi; the strain is a difference over one cell, taken at the
/// samples and interpolated. A step makes one half before advection, with phi a distance, and one half after. Particles beyond
/// the largest radius have that radius, which is not their distance; those nearer than twice that start from s phi(x) before the
/// step, and may exceed the largest radius between the halves.
template <class T, int D>
void stretch_radii(grid::Field<T, D>& phi, grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt,
                   const RadiusBounds& bounds, StretchedHalf half_step, double time, Workspace& workspace);

}  // namespace meniscus::surface
