/// Straight ways between cells, for questions about thin walls.
#pragma once

#include "meniscus/grid/grid.hpp"

#include <algorithm>

namespace meniscus::grid {

/// Index along an axis of the cell where a straight way to cell i ends: i itself beyond the end of an axis that closes, else the
/// nearest cell of the domain.
template <int D>
Index end_of_way(const Grid<D>& grid, int axis, Index i) {
  const Index a = axis;
  return grid.periodic()[a] ? i : std::clamp<Index>(i, 0, grid.shape()[a] - 1);
}

}  // namespace meniscus::grid
