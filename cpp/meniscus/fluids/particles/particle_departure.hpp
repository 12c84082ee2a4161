/// Departure of liquid particles through open sides.
#pragma once

#include "meniscus/fluids/particles/particle_boundary.hpp"

namespace meniscus::fluids {

/// As `apply_particle_boundary`, and removes the particles beyond open sides.
template <class T, int D>
ParticleBoundaryInfo apply_boundary_and_remove(grid::ParticleSet& particles, const grid::Grid<D>& grid,
                                               const std::array<bool, 2 * D>& open, const grid::Field<double, D>* solid,
                                               Workspace& workspace);

}  // namespace meniscus::fluids
