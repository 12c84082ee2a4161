/// Connected cells that no Dirichlet condition reaches, from the coefficients of faces alone: there, a pressure is known up to a
/// constant, unless something else couples the regions, such as solids that give way.
#pragma once

#include "meniscus/grid/poisson/cell_layout.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace meniscus::grid {

struct ClosedRegions {
  /// Number of the closed region of each cell in C order; -1 outside of all.
  std::vector<std::int32_t> label;
  /// Cells of each.
  std::vector<Index> cells;

  Index count() const { return static_cast<Index>(cells.size()); }
};

/// `faces`: coefficients per axis in C order, zero on walls. `active`: nonzero where a cell is an unknown;
/// null: everywhere.
template <int D>
void find_closed_regions(const CellLayout<D>& layout, const std::array<const double*, D>& faces, const std::uint8_t* active,
                         ClosedRegions& out);

}  // namespace meniscus::grid
