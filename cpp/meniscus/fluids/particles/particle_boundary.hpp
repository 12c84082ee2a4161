/// Boundary treatment of liquid particles that a step has carried beyond a side of the domain or into a solid.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::fluids {

struct ParticleBoundaryInfo {
  Index left = 0;   ///< beyond an open side
  Index moved = 0;  ///< out of the solid
  Index stuck = 0;  ///< in the solid, still
};

/// Moves particles beyond a closed side back to it and particles in the solid out of it, and sets left[i] to whether particle i
/// is beyond an open side. `open`: per side (see side_index); `solid`: a level set on nodes (<= 0 inside), a distance, or
/// nullptr.
template <class T, int D>
ParticleBoundaryInfo apply_particle_boundary(grid::ParticleSet& particles, const grid::Grid<D>& grid,
                                             const std::array<bool, 2 * D>& open, const grid::Field<double, D>* solid,
                                             std::uint8_t* left);

}  // namespace meniscus::fluids
