/// Points outside of the block: which ones, and how far they lie outside of the domain.
///
/// Most calls have points of the block alone. A bounding box tells that in one pass over the coordinates, without locating them.
#pragma once

#include "meniscus/grid/grid.hpp"

namespace meniscus::grid {

/// Bounding box of points, m. Of no points it is empty: low > high.
template <int D>
struct PointBox {
  std::array<double, D> low, high;
};

/// Of n points (n, D), m, that are finite.
template <class T, int D>
PointBox<D> box_of_points(const T* points, Index n);

/// The points, ascending, whose cells neither belong to the block nor are among so many layers beside it; `box` is theirs.
/// Points outside of the domain count as those next to them on its sides, or as their images along periodic axes.
template <class T, int D>
std::vector<Index> far_points(const Grid<D>& grid, const T* points, Index n, const PointBox<D>& box, Index layers);

/// Cells by which a point lies beyond a side of the domain, at most.
template <int D>
double cells_outside(const Grid<D>& grid, const PointBox<D>& box);

}  // namespace meniscus::grid
