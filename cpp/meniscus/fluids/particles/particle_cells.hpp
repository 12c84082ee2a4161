/// Assignment of particles to grid cells, for transfers and surfaces of particles.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/grid/particles/particles.hpp"

#include <cmath>
#include <type_traits>

namespace meniscus::fluids {

template <class T>
inline constexpr grid::ColumnType column_type_of =
    std::is_same_v<T, float> ? grid::ColumnType::float32 : grid::ColumnType::float64;

/// The cell that contains a point, and the position of the point between the lower (0) and upper (1) sides of the cell.
template <int D>
struct CellPlace {
  Coord<D> cell;
  std::array<double, D> fraction;

  /// Points outside of the domain are moved to its nearest point, on periodic axes to their image.
  template <class T>
  MENISCUS_INLINE CellPlace(const grid::Grid<D>& grid, const T* x) {
    for (std::size_t d = 0; d < D; ++d) {
      const auto n = static_cast<double>(grid.shape()[d]);
      const double c = (static_cast<double>(x[d]) - grid.origin()[static_cast<int>(d)]) / grid.spacing();
      double whole = std::floor(c);
      if (grid.periodic()[d]) {
        fraction[d] = c - whole;
        whole -= n * std::floor(whole / n);
        whole = whole < n - 1.0 ? whole : n - 1.0;  // rounding may reach n
      } else {
        const double last = n - 1.0;
        whole = whole < 0.0 ? 0.0 : whole > last ? last : whole;
        const double f = c - whole;
        fraction[d] = f < 0.0 ? 0.0 : f > 1.0 ? 1.0 : f;
      }
      cell[d] = static_cast<Index>(whole);
    }
  }
};

/// Sorts the particles by cell, unless they are sorted, and sets starts[c] to the first particle of the cell with linear index c
/// or above (cells + 1 values). Throws InvalidArgument for a position that is not finite.
template <class T, int D>
void order_by_cell(grid::ParticleSet& particles, const grid::Grid<D>& grid, Index* starts, Workspace& workspace);

/// Index of the first of n values that is not finite, or n.
template <class T>
Index first_not_finite(const T* values, Index n);

/// The positions of particles of this dimension and scalar type; throws WrongType for others.
template <class T, int D>
T* particle_positions(grid::ParticleSet& particles);

/// A column of `width` values of type T per particle. Throws WrongType, or InvalidArgument where there is none.
template <class T>
T* particle_values(grid::ParticleSet& particles, std::string_view name, Index width);

/// The same, or nullptr where there is no such column.
template <class T>
T* optional_particle_values(grid::ParticleSet& particles, std::string_view name, Index width);

}  // namespace meniscus::fluids
