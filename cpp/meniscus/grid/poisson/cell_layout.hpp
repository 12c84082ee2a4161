/// Memory layout of the unknowns of a Poisson problem: the cells of a box with one ghost layer, rows padded to whole blocks.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Cells per block of a row. Kernels treat whole blocks, so that their loops have a fixed length on every instruction set.
inline constexpr int cell_block = 16;

/// Cell c of the block is at index(c); its neighbours along axis d are strides[d] away. Cell 0 of every row begins a cache line.
/// The ghosts before and behind a row lie in the padding between rows.
template <int D>
struct CellLayout {
  Coord<D> cells{};   ///< of the block
  Coord<D> first{};   ///< place of the block's first cell in the domain
  Coord<D> domain{};  ///< cells of the domain
  Coord<D> strides{};
  std::array<bool, D> periodic{};
  Index origin = 0;
  Index size = 0;
  /// Fills the ghosts beyond shared sides; edges and corners are not needed by stencils along the axes.
  parallel::HaloPlan<D> halo;

  CellLayout() = default;
  /// All cells of a domain.
  CellLayout(const Coord<D>& n, const std::array<bool, D>& p)
      : CellLayout(parallel::whole_domain<D>(n, p), parallel::single_block_communicator()) {}
  /// The cells of one block.
  CellLayout(const parallel::DomainBlock<D>& block, const std::shared_ptr<parallel::Communicator>& communicator)
      : cells(block.shape), first(block.first), domain(block.domain), periodic(block.periodic) {
    Index s = 1;
    for (int d = D - 1; d >= 0; --d) {
      strides[d] = s;
      s *= d == D - 1 ? (cells[d] + cell_block - 1) / cell_block * cell_block + cell_block : cells[d] + 2;
    }
    origin = cell_block;
    for (int d = 0; d + 1 < D; ++d) origin += strides[d];
    size = s + 2 * cell_block;
    parallel::HaloLayout<D> h;
    h.block = block;
    h.ghost = 1;
    h.origin = origin;
    h.strides = strides;
    h.corners = false;
    halo = parallel::HaloPlan<D>(h, communicator);
  }

  Index index(const Coord<D>& c) const { return origin + dot<D>(c, strides); }
  Index count() const { return product<D>(cells); }
  /// Cells of one plane across axis 0 (a row in 2-D).
  Index plane_cells() const { return count() / cells[0]; }
  /// Rows of all planes; row r of plane i is number i * rows_per_plane() + r.
  Index rows_per_plane() const { return plane_cells() / cells[D - 1]; }
  Index rows() const { return cells[0] * rows_per_plane(); }
  /// Index of the first cell of a row.
  Index row(Index number) const {
    if constexpr (D == 2) return origin + number * strides[0];
    return origin + number / cells[1] * strides[0] + number % cells[1] * strides[1];
  }
  Coord<D> row_coordinate(Index number) const {
    Coord<D> c{};
    if constexpr (D == 2) {
      c[0] = number;
    } else {
      c[0] = number / cells[1];
      c[1] = number % cells[1];
    }
    return c;
  }
  /// Whether the cells beyond a side of the block belong to a block, and not to the boundary of the domain.
  bool shared(int axis, int upper) const { return halo.shared(axis, upper); }
  /// The number of the domain's side that face `coordinate` of an axis lies on (2 * axis, 2 * axis + 1), or -1.
  int side_of_face(int axis, Index coordinate) const {
    const Index a = axis;
    if (coordinate == 0 && !shared(axis, 0)) return 2 * axis;
    return coordinate == cells[a] && !shared(axis, 1) ? 2 * axis + 1 : -1;
  }
  /// A single cell around which an axis closes is its own neighbour.
  bool single_cell_ring(std::size_t axis) const { return periodic[axis] && domain[axis] == 1; }
  /// Parity of the coordinate sum in the domain: the colour of a cell.
  int parity(const Coord<D>& c) const {
    Index sum = 0;
    for (std::size_t d = 0; d < D; ++d) sum += first[d] + c[d];
    return static_cast<int>(sum & 1);
  }
  /// Whether a periodic axis of odd length closes somewhere, so that two neighbours have the same colour.
  bool has_odd_seam(std::size_t axis) const { return periodic[axis] && domain[axis] % 2 == 1 && domain[axis] > 1; }
  /// Whether a cell lies there.
  bool on_odd_seam(std::size_t axis, Index coordinate) const {
    const Index i = first[axis] + coordinate;
    return has_odd_seam(axis) && (i == 0 || i == domain[axis] - 1);
  }
  bool operator==(const CellLayout& o) const { return halo.block() == o.halo.block(); }
};

/// The samples of a block as unknowns of a Poisson problem; unknown c is sample c. Where two blocks share a side, or the domain
/// closes, the samples on it are unknowns of the upper block, and the lower one has them among its ghosts.
template <int D>
CellLayout<D> unknowns_of(const Grid<D>& grid, const Stagger<D>& stagger) {
  parallel::DomainBlock<D> block = grid.block();
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    if (!stagger.on_side[a] || grid.periodic()[a]) continue;
    ++block.domain[a];
    if (!grid.shared(d, 1)) ++block.shape[a];
  }
  return CellLayout<D>(block, grid.communicator());
}

/// The cells of a block, with one more along axes that have sides, where the domain ends: every face, edge and node has the index
/// of the cell above it.
template <int D>
CellLayout<D> cells_and_last_faces(const Grid<D>& grid) {
  return unknowns_of<D>(grid, Stagger<D>::node());
}

}  // namespace meniscus::grid
