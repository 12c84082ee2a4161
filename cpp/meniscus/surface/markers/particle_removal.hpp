/// Removal of particles by the value of a level set at their position.
///
/// The others keep their order. Nothing is changed if anything is thrown. Collective; numbers and volumes are those of all
/// blocks.
#pragma once

#include "meniscus/surface/markers/particle_spray.hpp"

#include <optional>

namespace meniscus::surface {

/// Removes markers with s phi(x) < 0 and |phi(x)| <= `reach` (m, may be infinite): those that the surface has passed. Where
/// bounds are given, the radii of the others are set, as by RadiusOf::every. Returns how many went.
template <class T, int D>
Index remove_markers_on_wrong_side(grid::Field<T, D>& phi, grid::ParticleSet& markers, double reach,
                                   const std::optional<RadiusBounds>& radii, double time, Workspace& workspace);

/// Removes markers of a sign whose ball touches a region (phi(x) <= radius), and returns how many.
template <class T, int D>
Index remove_markers_in(grid::Field<T, D>& region, grid::ParticleSet& markers, int sign, Workspace& workspace);

/// Removes droplets or bubbles in a region (phi(x) <= 0).
template <class T, int D>
Transfer remove_spray_in(grid::Field<T, D>& region, grid::ParticleSet& spray, Workspace& workspace);

/// Removes particles of any kind outside of a region (phi(x) > 0), and returns how many.
template <class T, int D>
Index remove_outside(grid::Field<T, D>& region, grid::ParticleSet& particles, Workspace& workspace);

}  // namespace meniscus::surface
