/// Columns of particles as typed pointers. They are valid until particles are added.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/particles.hpp"

#include <type_traits>
#include <utility>

namespace meniscus::grid {

template <class T>
constexpr ColumnType column_type() {
  if constexpr (std::is_same_v<T, float>) return ColumnType::float32;
  if constexpr (std::is_same_v<T, double>) return ColumnType::float64;
  if constexpr (std::is_same_v<T, std::int8_t>) return ColumnType::int8;
  if constexpr (std::is_same_v<T, std::int32_t>) return ColumnType::int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return ColumnType::int64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return ColumnType::uint8;
}

/// Calls f(T()) with the scalar of particles: double in two dimensions, float (`single`) or double in three.
template <int D, class F>
decltype(auto) with_scalar(bool single, F&& f) {
  if constexpr (D == 3)
    if (single) return f(float());
  return f(double());
}

template <int D, class F>
decltype(auto) with_scalar(const ParticleSet& particles, F&& f) {
  return with_scalar<D>(particles.positions().type == ColumnType::float32, std::forward<F>(f));
}

/// Positions (n, D), m. Throws WrongType for particles of another dimension or scalar type.
template <class T, int D>
T* particle_positions(ParticleSet& particles) {
  if (particles.dimension() != D || particles.positions().type != column_type<T>())
    throw WrongType("the particles must have the dimension and the scalar type of the fields");
  return reinterpret_cast<T*>(particles.positions().data.data());
}

/// A column of `width` values per particle. Throws WrongType for another type or width, InvalidArgument where there is none.
template <class T>
T* particle_values(ParticleSet& particles, std::string_view name, Index width) {
  ParticleColumn& column = particles.column(name);
  if (column.type != column_type<T>() || column.width != width)
    throw WrongType("column '" + column.name + "' must have " + std::to_string(width) + " values per particle" +
                    (std::is_floating_point_v<T> ? ", of the type of the positions" : ""));
  return reinterpret_cast<T*>(column.data.data());
}

/// The same, or nullptr where there is no such column.
template <class T>
T* optional_particle_values(ParticleSet& particles, std::string_view name, Index width) {
  for (const ParticleColumn& column : particles.columns())
    if (column.name == name) return particle_values<T>(particles, name, width);
  return nullptr;
}

}  // namespace meniscus::grid
