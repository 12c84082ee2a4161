/// The columns of whitewater as typed pointers.
#pragma once

#include "meniscus/fluids/whitewater/whitewater.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

namespace meniscus::fluids {

template <class T, int D>
struct WhitewaterColumns {
  explicit WhitewaterColumns(grid::ParticleSet& particles)
      : position(grid::particle_positions<T, D>(particles)),
        velocity(grid::particle_values<T>(particles, "velocity", D)),
        radius(grid::particle_values<T>(particles, "radius", 1)),
        lifetime(grid::particle_values<T>(particles, "lifetime", 1)),
        kind(grid::particle_values<std::uint8_t>(particles, "kind", 1)) {}

  T* position;
  T* velocity;
  T* radius;
  T* lifetime;
  std::uint8_t* kind;
};

/// The kind of a particle at a signed distance, m, from the surface.
inline std::uint8_t kind_at(double phi, double layer) {
  const WhitewaterKind kind = phi > layer ? WhitewaterKind::spray : phi < -layer ? WhitewaterKind::bubble : WhitewaterKind::foam;
  return static_cast<std::uint8_t>(kind);
}

}  // namespace meniscus::fluids
