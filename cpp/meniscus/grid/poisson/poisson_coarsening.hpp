/// Coarsening of a level of the Poisson hierarchy: which cells are joined, and the matrix of the joined cells.
///
/// A coarse cell consists of the largest connected component of the unknowns in its block of 2 x 2 (x 2) fine cells; two unknowns
/// are connected where the face between them has a coefficient. Unknowns that a wall separates from that part join a neighbouring
/// coarse cell on their own side of the wall, if there is one. So no coarse cell reaches through a wall, walls may be as thin as
/// a face, and enclosed regions stay enclosed on all levels.
///
/// The coefficient of a coarse face is that of the fine faces as resistors: in series along the axis, from centre to centre, and
/// in parallel across it. This is also right for odd sizes, where the last block is thinner.
#pragma once

#include "meniscus/grid/poisson/block_geometry.hpp"
#include "meniscus/grid/poisson/face_matrix.hpp"

namespace meniscus::grid {

/// Assignment of fine cells to coarse cells.
template <int D>
struct CellJoining {
  /// Per fine cell: none (no unknown, or cut off from everything around), own_block, or attached(axis, side) for the block next
  /// to its own. Ghosts beyond periodic sides hold copies.
  static constexpr std::uint8_t none = 0;
  static constexpr std::uint8_t own_block = 1;
  static constexpr std::uint8_t attached(int axis, int side) { return static_cast<std::uint8_t>(2 + 2 * axis + side); }
  Block<std::uint8_t> owner;

  /// Per coarse cell: full where all children exist, are unknowns and connected by similar coefficients; split where some do not
  /// belong to the own coarse cell. Ghosts beyond periodic sides hold copies.
  static constexpr std::uint8_t full = 1;
  static constexpr std::uint8_t split = 2;
  /// Full, and all couplings between the children are those of the open medium.
  static constexpr std::uint8_t plain = 4;
  /// No child is an unknown.
  static constexpr std::uint8_t empty = 8;
  Block<std::uint8_t> state;

  /// Per coarse cell, one bit per axis: this block and the lower one are both full, and so is the connection between them.
  static constexpr std::uint8_t link(int axis) { return static_cast<std::uint8_t>(1 << axis); }
  Block<std::uint8_t> links;
};

template <int D>
class PoissonCoarsening {
 public:
  /// Computes the joining and the coarse matrix (and calls its `finish()`), in existing memory: those parts that depend on the
  /// changed rows of the fine matrix. Returns the rows of blocks that may have changed.
  static void run(const FaceMatrix<float, D>& fine, FaceMatrix<float, D>& coarse, CellJoining<D>& joining,
                  const RowChanges<D>& changed, RowChanges<D>& coarse_changed);
  /// All of it.
  static void run(const FaceMatrix<float, D>& fine, FaceMatrix<float, D>& coarse, CellJoining<D>& joining);
};

}  // namespace meniscus::grid
