/// Connected cells of fluid that neither a given pressure nor an open face reaches: there, the pressure of a fluid alone is known
/// up to a constant. What the sheets around them give way decides whether the constant is known with them.
#pragma once

#include "meniscus/grid/poisson/cell_layout.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace meniscus::coupling {

struct ClosedRegions {
  /// Number of the closed region of each cell in C order; -1 outside of all.
  std::vector<std::int32_t> label;
  /// Cells of each.
  std::vector<Index> cells;

  Index count() const { return static_cast<Index>(cells.size()); }
};

/// `faces`: coefficients per axis in C order, zero on walls and on faces that sheets cut. `active`: nonzero where a cell is an unknown;
/// null: everywhere.
template <int D>
void find_closed_regions(const grid::CellLayout<D>& layout, const std::array<const double*, D>& faces, const std::uint8_t* active,
                         ClosedRegions& out);

}  // namespace meniscus::coupling
