#include "meniscus/grid/grid.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>
#include <limits>

namespace meniscus::grid {

template <int D>
Grid<D>::Grid(Coord<D> shape, double spacing, Vec<double, D> origin, std::array<bool, D> periodic)
    : shape_(shape), spacing_(spacing), origin_(std::move(origin)), periodic_(periodic) {
  double cells = 1.0;
  for (int d = 0; d < D; ++d) {
    require(shape[d] >= 1, "every axis of a grid needs at least 1 cell, axis ", d, " has ", shape[d]);
    cells *= static_cast<double>(shape[d]);
    require(std::isfinite(origin_[d]), "the origin of a grid must be finite, component ", d, " is ", origin_[d]);
  }
  require(cells < 1e15, "a grid of ", cells, " cells cannot be addressed");
  require(std::isfinite(spacing) && spacing > 0, "the spacing of a grid must be positive and finite, got ", spacing);
}

template class Grid<2>;
template class Grid<3>;

}  // namespace meniscus::grid
