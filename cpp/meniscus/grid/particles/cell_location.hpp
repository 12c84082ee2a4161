/// Location of points: the cell that contains a point, and the offset of the point within that cell.
///
/// Cells have global indices, so that neither part of a location depends on where a block of the domain begins.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/grid/grid.hpp"

#include <cmath>

namespace meniscus::grid {

template <int D>
struct CellLocation {
  Coord<D> cell;
  /// From the lower sides of the cell, in cells: 0 to 1.
  std::array<double, D> offset;
};

/// Locates a point (m) in the lattice of cells, of which the domain is a part: anywhere along an axis with sides, and along a
/// periodic one at its image in the domain.
template <class T, int D>
MENISCUS_INLINE CellLocation<D> locate(const Grid<D>& grid, const T* x) {
  CellLocation<D> at;
  for (std::size_t d = 0; d < D; ++d) {
    const auto n = static_cast<double>(grid.shape()[d]);
    const double c = (static_cast<double>(x[d]) - grid.origin()[static_cast<Index>(d)]) / grid.spacing();
    // The bounds keep the conversion defined; rounding may leave the domain.
    const double most = grid.periodic()[d] ? n - 1.0 : 1e15;
    const double least = grid.periodic()[d] ? 0.0 : -1e15;
    double whole = std::floor(c);
    at.offset[d] = c - whole;
    if (grid.periodic()[d]) whole -= n * std::floor(whole / n);
    whole = whole > most ? most : whole >= least ? whole : least;
    at.cell[d] = static_cast<Index>(whole);
  }
  return at;
}

/// Locates a point (m) in the domain. Points outside are moved to its nearest point, along periodic axes to their image.
template <class T, int D>
MENISCUS_INLINE CellLocation<D> locate_in_domain(const Grid<D>& grid, const T* x) {
  CellLocation<D> at;
  for (std::size_t d = 0; d < D; ++d) {
    const auto n = static_cast<double>(grid.shape()[d]);
    const double last = n - 1.0;
    const double c = (static_cast<double>(x[d]) - grid.origin()[static_cast<Index>(d)]) / grid.spacing();
    double whole = std::floor(c);
    if (grid.periodic()[d]) {
      at.offset[d] = c - whole;
      whole -= n * std::floor(whole / n);
      whole = whole > last ? last : whole >= 0.0 ? whole : 0.0;  // rounding may leave the range
    } else {
      whole = whole < 0.0 ? 0.0 : whole > last ? last : whole;
      const double f = c - whole;
      at.offset[d] = f < 0.0 ? 0.0 : f > 1.0 ? 1.0 : f;
    }
    at.cell[d] = static_cast<Index>(whole);
  }
  return at;
}

/// Points that are located together.
inline constexpr Index located_points = 64;

/// Locations of up to so many points, axis by axis: in arrays of one type, which the vectoriser takes.
template <int D>
struct LocatedPoints {
  std::array<std::array<std::int32_t, located_points>, D> cell;
  std::array<std::array<double, located_points>, D> offset;

  CellLocation<D> operator[](Index l) const {
    CellLocation<D> at;
    for (std::size_t d = 0; d < D; ++d) {
      at.cell[d] = cell[d][l];
      at.offset[d] = offset[d][l];
    }
    return at;
  }
};

/// Locates n points (n, D) in the domain, each with the bits of `locate_in_domain`.
template <class T, int D>
MENISCUS_INLINE void locate_in_domain(const Grid<D>& grid, const T* x, Index n, LocatedPoints<D>& at) {
  const double h = grid.spacing();
  for (std::size_t d = 0; d < D; ++d) {
    const double origin = grid.origin()[static_cast<Index>(d)], cells = static_cast<double>(grid.shape()[d]), last = cells - 1.0;
    const T* const from = x + d;
    std::int32_t* const cell = at.cell[d].data();
    double* const offset = at.offset[d].data();
    if (grid.periodic()[d]) {
      for (Index l = 0; l < n; ++l) {
        const double c = (static_cast<double>(from[l * D]) - origin) / h;
        double whole = std::floor(c);
        offset[l] = c - whole;
        whole -= cells * std::floor(whole / cells);
        whole = whole > last ? last : whole >= 0.0 ? whole : 0.0;
        cell[l] = static_cast<std::int32_t>(whole);
      }
      continue;
    }
    for (Index l = 0; l < n; ++l) {
      const double c = (static_cast<double>(from[l * D]) - origin) / h;
      double whole = std::floor(c);
      whole = whole < 0.0 ? 0.0 : whole > last ? last : whole;
      const double f = c - whole;
      offset[l] = f < 0.0 ? 0.0 : f > 1.0 ? 1.0 : f;
      cell[l] = static_cast<std::int32_t>(whole);
    }
  }
}

/// Linear C-ordered index of a cell of the domain.
template <int D>
MENISCUS_INLINE Index cell_index(const Grid<D>& grid, const Coord<D>& cell) {
  Index i = 0;
  for (std::size_t d = 0; d < D; ++d) i = i * grid.shape()[d] + cell[d];
  return i;
}

/// Likewise, but among the cells of the domain and those of one layer of ghosts beyond its sides, whose centres are the farthest
/// places: for fields that are known there. Points on periodic axes have their images in the domain.
template <class T, int D>
CellLocation<D> locate_in_extended_domain(const Grid<D>& grid, const T* x) {
  CellLocation<D> at = locate_in_domain(grid, x);
  for (std::size_t d = 0; d < D; ++d) {
    if (grid.periodic()[d]) continue;
    const Index n = grid.shape()[d];
    const double c = (static_cast<double>(x[d]) - grid.origin()[static_cast<Index>(d)]) / grid.spacing();
    if (c < 0.0) {
      at.cell[d] = -1;
      at.offset[d] = 1.0 + std::max(c, -0.5);
    } else if (c > static_cast<double>(n)) {
      at.cell[d] = n;
      at.offset[d] = std::min(c - static_cast<double>(n), 0.5);
    }
  }
  return at;
}

}  // namespace meniscus::grid
