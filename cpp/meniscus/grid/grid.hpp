/// Uniform Cartesian grids and the positions of their samples.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::grid {

/// A box of cubic cells. Cell (i, j, k) fills origin + spacing * [i, i+1] x [j, j+1] x [k, k+1].
template <int D>
class Grid {
 public:
  /// Throws InvalidArgument for a shape below one cell, a spacing that is not positive and finite, or an origin that is not
  /// finite.
  Grid(Coord<D> shape, double spacing, Vec<double, D> origin, std::array<bool, D> periodic);

  /// Cells per axis, of the whole domain.
  const Coord<D>& shape() const { return shape_; }
  /// Cells per axis that this rank owns; with one rank, all.
  const Coord<D>& local_shape() const { return shape_; }
  /// Edge length of a cell in metres.
  double spacing() const { return spacing_; }
  /// Lower corner of the domain in metres.
  const Vec<double, D>& origin() const { return origin_; }
  const std::array<bool, D>& periodic() const { return periodic_; }

  bool operator==(const Grid& other) const = default;

 private:
  Coord<D> shape_;
  double spacing_;
  Vec<double, D> origin_;
  std::array<bool, D> periodic_;
};

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
    s.on_side[static_cast<std::size_t>(axis)] = 1;
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

/// Position of sample `index` in metres.
template <int D>
Vec<double, D> sample_position(const Grid<D>& grid, const Stagger<D>& stagger, const Coord<D>& index) {
  Vec<double, D> x;
  for (int d = 0; d < D; ++d)
    x[d] = grid.origin()[d] + grid.spacing() * (static_cast<double>(index[d]) + 0.5 * (1 - stagger.on_side[d]));
  return x;
}

}  // namespace meniscus::grid
