/// Prolongation of corrections to a finer level and its transpose, the restriction of residuals.
///
/// Corrections are interpolated linearly along each axis from the own coarse cell and its next neighbours (Khalil's and
/// Wesseling's interpolation for cell centres): in 3-D a quarter from each of four cells. Near walls, Dirichlet conditions and
/// thin last blocks the weights follow the one-dimensional problem along each axis. Where all cells around are joined in the
/// regular way, whole rows are processed at once; everywhere else the weights are stored in lists.
#pragma once

#include "meniscus/grid/poisson/poisson_coarsening.hpp"
#include "meniscus/grid/poisson/poisson_level.hpp"

#include <vector>

namespace meniscus::grid {

/// Consecutive coarse cells of one row whose transfer is regular. `fine` is the first cell of the first one's block.
struct TransferRun {
  Index coarse = 0;
  Index fine = 0;
  Index count = 0;
};

struct TransferEntry {
  Index cell = 0;
  float weight = 0;
};

template <int D>
class PoissonTransfer {
 public:
  /// Computes the weights from the joining of the cells, in existing memory.
  void build(const FaceMatrix<float, D>& fine, const CellJoining<D>& joining);

  /// coarse.b = transpose of the interpolation, applied to fine.residual.
  void restrict_residual(const PoissonLevel<D>& from, PoissonLevel<D>& to) const;
  /// fine.x += interpolation of coarse.x, ghosts included.
  void add_correction(const PoissonLevel<D>& from, PoissonLevel<D>& to) const;

  /// Bytes held.
  Index bytes() const;

 private:
  /// Coarse cells that a fine cell takes its correction from.
  static constexpr Index sources = D + 1;

  void sort_blocks(const BlockGeometry<D>& geometry, const CellJoining<D>& joining);
  void list_interpolation(const FaceMatrix<float, D>& fine, const BlockGeometry<D>& geometry, const CellJoining<D>& joining);
  void list_restriction(const BlockGeometry<D>& geometry);

  CellLayout<D> fine_, coarse_;
  /// Per coarse cell: whether the interpolation to all its children is regular.
  Block<std::uint8_t> regular_;
  std::vector<TransferRun> interpolate_runs_, restrict_runs_;
  /// Irregular fine cells; entry (i, s) of their weights is at i * sources + s, padded with zero weights.
  std::vector<Index> fine_cells_;
  std::vector<TransferEntry> fine_entries_;
  /// Irregular coarse cells and their weights [begin, next begin).
  std::vector<Index> coarse_cells_, coarse_begin_;
  std::vector<TransferEntry> coarse_entries_;
  /// Blocks with listed residuals, the first of their listed fine cells, and per coarse cell the number of its block.
  std::vector<Coord<D>> blocks_;
  std::vector<Index> block_begin_;
  Block<std::int32_t> block_number_;
};

}  // namespace meniscus::grid
