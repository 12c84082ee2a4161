/// Typed columns of the particles of a particle level set.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/particles.hpp"

#include <type_traits>

namespace meniscus::surface {

namespace detail {

template <class T>
constexpr grid::ColumnType column_type_of = std::is_same_v<T, float>         ? grid::ColumnType::float32
                                            : std::is_same_v<T, std::int8_t> ? grid::ColumnType::int8
                                                                             : grid::ColumnType::float64;

template <class T>
T* typed_column(grid::ParticleColumn& column, Index width) {
  if (column.type != column_type_of<T> || column.width != width)
    throw WrongType("column '" + column.name + "' must have the type of the level set and " + std::to_string(width) +
                    " values per particle");
  return reinterpret_cast<T*>(column.data.data());
}

template <class T, int D>
T* typed_positions(grid::ParticleSet& particles) {
  if (particles.dimension() != D || particles.positions().type != column_type_of<T>)
    throw WrongType("the particles must have the dimension and the scalar type of the level set");
  return reinterpret_cast<T*>(particles.positions().data.data());
}

}  // namespace detail

/// Marker particles. Pointers are valid until particles are added.
template <class T, int D>
struct MarkerColumns {
  explicit MarkerColumns(grid::ParticleSet& particles)
      : position(detail::typed_positions<T, D>(particles)),
        sign(detail::typed_column<std::int8_t>(particles.column("sign"), 1)),
        radius(detail::typed_column<T>(particles.column("radius"), 1)) {}

  T* position;        ///< (n, D), m
  std::int8_t* sign;  ///< +1: marks the outside (phi > 0), -1: marks the inside
  T* radius;          ///< m
};

/// Removed particles, which move by themselves: spray (removed from the inside) and bubbles (from the outside).
template <class T, int D>
struct SprayColumns {
  explicit SprayColumns(grid::ParticleSet& particles)
      : position(detail::typed_positions<T, D>(particles)),
        velocity(detail::typed_column<T>(particles.column("velocity"), D)),
        radius(detail::typed_column<T>(particles.column("radius"), 1)) {}

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
