/// Distances to the surface that liquid particles carry (column 'distance', m, negative in the liquid; zero: not known).
///
/// The distance to the surface is a property of the material, as in the equation of level sets: a rigid motion keeps it, and so
/// does water at rest. Positions alone tell the surface only up to a fraction of their spacing, and nothing beside a solid. Where
/// the flow deforms the liquid, distances follow what the positions tell.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

#include <limits>

namespace meniscus::fluids {

/// A distance within what the one that positions tell (from a density) leaves open above and below it, if it is a bound there; in
/// cells.
double within_open(double distance, double told, bool above, bool below);

/// The distance of a particle after dt (m), which follows the one that positions tell (m) at a rate of strain (1/s), and stays
/// within what that leaves open. `beside_wall`: too few particles tell it there to be a bound.
double followed_distance(double distance, double told, double strain, double dt, double spacing, bool beside_wall);

/// Zero stands for a distance that is not known.
template <class T>
T known_distance(double d) {
  const auto t = static_cast<T>(d);
  return t == T(0) ? -std::numeric_limits<T>::min() : t;
}

/// Gives particles in a new region of liquid their distances: to the surface of its union with the liquid that was there before
/// (`before`, or nullptr). Level sets on cells, m.
template <class T, int D>
void set_distances(grid::ParticleSet& particles, grid::Field<T, D>& region, grid::Field<T, D>* before);

/// Lets distances follow a level set on cells that the density of the particles gives, at the rate of strain of the velocity over
/// dt; keeps them within what positions leave open; and sets those that are not known. `solid`: on nodes; nullptr: none. `walls`:
/// particles that may not see all around them keep their distances; nullptr: none.
template <class T, int D>
void update_distances(grid::ParticleSet& particles, grid::Field<T, D>& positions_levelset, grid::MacField<T, D>& velocity,
                      const grid::Field<double, D>* solid, double dt, double time, Workspace& workspace,
                      const grid::ThinWalls<D>* walls = nullptr);

/// Adds `factor` times the height of such a level set at the particles above its value in full cells, -1 cell, to their
/// distances: with -1 before and 1 after a displacement that no flow makes, they stay right.
template <class T, int D>
void add_to_distances(grid::ParticleSet& particles, grid::Field<T, D>& levelset, double factor, Workspace& workspace);

}  // namespace meniscus::fluids
