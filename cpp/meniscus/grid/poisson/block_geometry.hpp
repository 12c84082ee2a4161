/// Blocks of fine cells that form the coarse cells of a Poisson hierarchy.
#pragma once

#include "meniscus/grid/poisson/cell_layout.hpp"

namespace meniscus::grid {

/// Coarse cell C covers the fine cells 2 C and 2 C + 1 along every axis of more than one cell; the last may cover one only.
template <int D>
struct BlockGeometry {
  static constexpr int children = 1 << D;
  CellLayout<D> fine, coarse;
  std::array<bool, D> halved{};

  explicit BlockGeometry(const CellLayout<D>& f) : fine(f) {
    Coord<D> n;
    for (std::size_t d = 0; d < D; ++d) {
      halved[d] = f.cells[d] > 1;
      n[d] = halved[d] ? (f.cells[d] + 1) / 2 : 1;
    }
    parallel::DomainBlock<D> block = parallel::whole_domain<D>(n, f.periodic);
    // A window of a larger domain keeps its place there, which begins at an even cell.
    for (std::size_t d = 0; d < D; ++d) block.first[d] = halved[d] ? f.first[d] / 2 : f.first[d];
    coarse = CellLayout<D>(block, parallel::single_block_communicator());
  }

  bool all_halved() const {
    bool all = true;
    for (bool h : halved) all &= h;
    return all;
  }

  /// Fine coordinate of the first cell of a block.
  Coord<D> first(const Coord<D>& block) const {
    Coord<D> c;
    for (std::size_t d = 0; d < D; ++d) c[d] = halved[d] ? 2 * block[d] : block[d];
    return c;
  }

  /// Index of the child whose bit d says the upper one along axis d, or -1.
  Index child(const Coord<D>& block, int bits) const {
    Index i = fine.origin;
    for (std::size_t d = 0; d < D; ++d) {
      const int upper = (bits >> d) & 1;
      const Index c = (halved[d] ? 2 * block[d] : block[d]) + upper;
      if (c >= fine.cells[d] || (upper && !halved[d])) return -1;
      i += c * fine.strides[d];
    }
    return i;
  }

  /// Moves to the neighbouring block, around periodic sides; false where there is none.
  bool step(Coord<D>& block, int axis, int side) const {
    const Index d = axis;
    block[d] += side ? 1 : -1;
    if (block[d] >= 0 && block[d] < coarse.cells[d]) return true;
    if (!coarse.periodic[d]) return false;
    block[d] = side ? 0 : coarse.cells[d] - 1;
    return true;
  }
};

}  // namespace meniscus::grid
