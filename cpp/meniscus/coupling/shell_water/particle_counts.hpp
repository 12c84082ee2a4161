/// Numbers of particles of a liquid in cells beside thin walls.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

#include <span>

namespace meniscus::coupling {

/// `fluids::particle_density` of the cells near walls, others are left alone: of the particles that see the centre of a cell,
/// relative to the part of the space around it that does. `full`: what cells have that hardly see anything.
template <class T, int D>
void particle_density_past_walls(grid::ParticleSet& particles, grid::Field<T, D>& density, const grid::ThinWalls<D>& walls,
                                 double full, Workspace& workspace);

/// The cell, a number in C order, whose centre a point (n, D), m, sees: its own, else the nearest one around that; -1 if none.
template <int D>
void home_cells(const grid::ThinWalls<D>& walls, std::span<const Vec<double, D>> points, std::span<Index> out);

}  // namespace meniscus::coupling
