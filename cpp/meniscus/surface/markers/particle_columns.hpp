/// Typed columns of the particles of a particle level set.
#pragma once

#include "meniscus/grid/particles/particle_columns.hpp"

namespace meniscus::surface {

/// Marker particles. Pointers are valid until particles are added.
template <class T, int D>
struct MarkerColumns {
  explicit MarkerColumns(grid::ParticleSet& particles)
      : position(grid::particle_positions<T, D>(particles)),
        sign(grid::particle_values<std::int8_t>(particles, "sign", 1)),
        radius(grid::particle_values<T>(particles, "radius", 1)) {}

  T* position;        ///< (n, D), m
  std::int8_t* sign;  ///< +1: marks the outside (phi > 0), -1: marks the inside
  T* radius;          ///< m
};

/// Removed particles, which move by themselves: spray (removed from the inside) and bubbles (from the outside).
template <class T, int D>
struct SprayColumns {
  explicit SprayColumns(grid::ParticleSet& particles)
      : position(grid::particle_positions<T, D>(particles)),
        velocity(grid::particle_values<T>(particles, "velocity", D)),
        radius(grid::particle_values<T>(particles, "radius", 1)) {}

  T* position;  ///< (n, D), m
  T* velocity;  ///< (n, D), m/s
  T* radius;    ///< m
};

/// Volume of a ball, m^3; in two dimensions the area of a disc, m^2.
template <int D>
constexpr double ball_volume(double radius) {
  constexpr double pi = 3.14159265358979323846;
  return D == 2 ? pi * radius * radius : 4.0 / 3.0 * pi * radius * radius * radius;
}

}  // namespace meniscus::surface
