#include "meniscus/grid/grid.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>
#include <limits>

namespace meniscus::grid {

template <int D>
Grid<D>::Grid(Coord<D> shape, double spacing, Vec<double, D> origin, std::array<bool, D> periodic)
    : Grid(parallel::whole_domain<D>(shape, periodic), spacing, std::move(origin), parallel::single_block_communicator()) {}

template <int D>
Grid<D>::Grid(const parallel::DomainBlock<D>& block, double spacing, Vec<double, D> origin,
              std::shared_ptr<parallel::Communicator> communicator)
    : block_(block), spacing_(spacing), origin_(std::move(origin)), communicator_(std::move(communicator)) {
  const Coord<D>& shape = block.domain;
  double cells = 1.0;
  for (int d = 0; d < D; ++d) {
    require(shape[d] >= 1, "every axis of a grid needs at least 1 cell, axis ", d, " has ", shape[d]);
    cells *= static_cast<double>(shape[d]);
    require(std::isfinite(origin_[d]), "the origin of a grid must be finite, component ", d, " is ", origin_[d]);
  }
  require(cells < 1e15, "a grid of ", cells, " cells cannot be addressed");
  require(std::isfinite(spacing) && spacing > 0, "the spacing of a grid must be positive and finite, got ", spacing);
  require(block.number == communicator_->rank() || !block.cut(), "block ", block.number,
          " of a grid cannot have the communicator of block ", communicator_->rank());
}

template <int D>
void require_sides(const Grid<D>& grid, const char* reason) {
  for (const bool closes : grid.periodic()) require(!closes, "grid must not be periodic, because ", reason);
}

template void require_sides<2>(const Grid<2>&, const char*);
template void require_sides<3>(const Grid<3>&, const char*);
template class Grid<2>;
template class Grid<3>;

}  // namespace meniscus::grid
