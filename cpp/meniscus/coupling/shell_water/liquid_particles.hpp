/// Particles of a liquid and the faces of a grid beside thin walls: what a wall hides from each other has nothing to do with each
/// other.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.1 (what is visible); the transfers are those of
/// `fluids/particles`.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

#include <span>

namespace meniscus::coupling {

/// Sets the faces of a velocity near walls to the mean of the particles that see them, as `fluids::particles_to_grid` does with
/// all; faces that no particle sees are zero. `known[d]`: whether a face has particles; of faces away from walls it is left
/// alone, as they are. Blocked faces are among those near walls.
template <class T, int D>
void particles_to_faces_past_walls(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                   const std::array<std::uint8_t*, D>& known, Workspace& workspace);

/// The velocity (n, D), m/s, at points (n, D), m, from the faces that each sees, and its gradients (n, D * D), 1/s, component by
/// component.
template <class T, int D>
void sample_velocity_past_walls(grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                std::span<const Vec<double, D>> points, double time, std::span<Vec<double, D>> out,
                                std::span<double> gradients);

/// `fluids::update_distances` for the particles that may not see all around them, which that leaves alone beside walls: from
/// samples of level set and velocity that they see. Those that see no level set keep their distance.
template <class T, int D>
void update_distances_past_walls(grid::ParticleSet& particles, grid::Field<T, D>& positions_levelset,
                                 grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls, double dt, double time);

}  // namespace meniscus::coupling
