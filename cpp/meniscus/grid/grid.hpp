/// Uniform Cartesian grids, their blocks for each process, and the positions of samples.
#pragma once

#include "meniscus/parallel/communicator.hpp"
#include "meniscus/parallel/domain_block.hpp"

namespace meniscus::grid {

/// A box of cubic cells, and the block of it that this process owns. Cell (i, j, k) of the box fills
/// origin + spacing * [i, i+1] x [j, j+1] x [k, k+1]. Arrays hold the block alone and are indexed from its first cell.
template <int D>
class Grid {
 public:
  /// A grid of one block. Throws InvalidArgument for a shape below one cell, a spacing that is not positive and finite, or an
  /// origin that is not finite.
  Grid(Coord<D> shape, double spacing, Vec<double, D> origin, std::array<bool, D> periodic);
  /// One block of a grid; `communicator` reaches the others.
  Grid(const parallel::DomainBlock<D>& block, double spacing, Vec<double, D> origin,
       std::shared_ptr<parallel::Communicator> communicator);

  /// Cells per axis of the whole domain.
  const Coord<D>& shape() const { return block_.domain; }
  /// Cells per axis of the own block.
  const Coord<D>& local_shape() const { return block_.shape; }
  /// Place of the own block's first cell in the domain.
  const Coord<D>& first_cell() const { return block_.first; }
  /// Edge length of a cell in metres.
  double spacing() const { return spacing_; }
  /// Lower corner of the domain in metres.
  const Vec<double, D>& origin() const { return origin_; }
  const std::array<bool, D>& periodic() const { return block_.periodic; }

  const parallel::DomainBlock<D>& block() const { return block_; }
  const std::shared_ptr<parallel::Communicator>& communicator() const { return communicator_; }
  /// Whether the cells beyond a side of the block belong to a block (perhaps this one), and not to the boundary of the domain.
  bool shared(int axis, int upper) const { return block_.shared(axis, upper); }

  bool operator==(const Grid& other) const = default;

 private:
  parallel::DomainBlock<D> block_;
  double spacing_;
  Vec<double, D> origin_;
  std::shared_ptr<parallel::Communicator> communicator_;
};

/// Throws InvalidArgument where an axis is periodic; `reason` says why all axes need sides.
template <int D>
void require_sides(const Grid<D>& grid, const char* reason);

/// Positions of the samples of a field in a cell: per axis at the centre (0) or on the sides (1).
template <int D>
struct Stagger {
  std::array<int, D> on_side{};

  static constexpr Stagger cell() { return {}; }
  static constexpr Stagger node() {
    Stagger s;
    s.on_side.fill(1);
    return s;
  }
  static constexpr Stagger face(int axis) {
    Stagger s;
    s.on_side[axis] = 1;
    return s;
  }
  bool operator==(const Stagger&) const = default;

  /// Samples per axis for the given number of cells.
  constexpr Coord<D> extents(const Coord<D>& cells) const {
    Coord<D> n;
    for (int d = 0; d < D; ++d) n[d] = cells[d] + on_side[d];
    return n;
  }
};

/// Position of sample `index` of the block in metres. It is computed from the global index, so that a sample has the same
/// position in every block that sees it.
template <int D>
Vec<double, D> sample_position(const Grid<D>& grid, const Stagger<D>& stagger, const Coord<D>& index) {
  Vec<double, D> x;
  for (int d = 0; d < D; ++d)
    x[d] = grid.origin()[d] +
           grid.spacing() * (static_cast<double>(grid.first_cell()[d] + index[d]) + 0.5 * (1 - stagger.on_side[d]));
  return x;
}

}  // namespace meniscus::grid
