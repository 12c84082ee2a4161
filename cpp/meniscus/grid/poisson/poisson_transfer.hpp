/// Prolongation of corrections to a finer level and its transpose, the restriction of residuals.
///
/// Corrections are interpolated linearly along each axis from the own coarse cell and its next neighbours (Khalil's and
/// Wesseling's interpolation for cell centres): in 3-D a quarter from each of four cells. Near walls, Dirichlet conditions and
/// thin last blocks the weights follow the one-dimensional problem along each axis. Where all cells around are joined in the
/// regular way, whole rows are processed at once, also along the sides of the domain: there the ghosts of the coarse correction
/// get a multiple of the cells beside them, one for a wall. Everywhere else the weights are stored in lists.
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
  std::uint32_t cell = 0;
  float weight = 0;
};

/// Coarse cells: those whose children get corrections, and among those the ones that get residuals.
template <int D>
struct TransferBoxes {
  parallel::IndexBox<D> interpolated, restricted;
};

template <int D>
class PoissonTransfer {
 public:
  /// Computes the weights from the joining of the cells, in existing memory. The blocks are sorted anew in changed rows alone.
  /// With `boxes`, residuals are right in no other cells than those.
  void build(const FaceMatrix<float, D>& fine, const CellJoining<D>& joining, const RowChanges<D>& changed,
             const TransferBoxes<D>* boxes = nullptr);
  /// The same for all rows.
  void build(const FaceMatrix<float, D>& fine, const CellJoining<D>& joining);

  /// b = transpose of the interpolation, applied to the residual of the fine level, whose ghosts are filled. `b` is an array of
  /// the coarse cells.
  void restrict_residual(PoissonLevel<D>& fine, float* b) const;
  /// Adds the interpolation of a correction of the coarse cells to x of the fine level, ghosts included. Writes the correction's
  /// ghosts beyond sides and sets them to zero again.
  void add_correction(float* correction, PoissonLevel<D>& fine) const;

  /// Bytes held.
  Index bytes() const;

 private:
  /// Coarse cells that a fine cell takes its correction from.
  static constexpr Index sources = D + 1;

  void sort_blocks(const FaceMatrix<float, D>& fine, const BlockGeometry<D>& geometry, const CellJoining<D>& joining,
                   const RowChanges<D>& changed);
  void list_runs(const BlockGeometry<D>& geometry, const CellJoining<D>& joining, const TransferBoxes<D>& boxes);
  /// Fills the ghosts of a coarse correction beyond sides of the domain.
  void mirror(float* x) const;
  void clear_mirrors(float* x) const;
  /// Adds what the ghosts beyond sides of the domain would get to the cells beside them.
  void restrict_mirrors(const float* residual, float* b) const;
  /// Calls body(side, factor of the first block, first block, count, step to the ghosts) for the rows of blocks on sides.
  template <class Body>
  void for_each_side_row(Body&& body) const;
  /// Where the mirrors of a block on a side across an axis are.
  std::size_t place_on_side(int axis, const Coord<D>& block) const;
  /// The mirror of a block beyond one of its ends along an axis; zero where that is no side.
  float mirror_of(const Coord<D>& block, int axis, int side) const;
  bool find_mirrors(const FaceMatrix<float, D>& fine, const BlockGeometry<D>& geometry, const CellJoining<D>& joining,
                    const Coord<D>& block);
  void list_interpolation(const FaceMatrix<float, D>& fine, const BlockGeometry<D>& geometry, const CellJoining<D>& joining);
  void list_restriction(const BlockGeometry<D>& geometry);

  CellLayout<D> fine_, coarse_;
  /// Per coarse cell: whether the interpolation to all its children is regular.
  Block<std::uint8_t> regular_;
  /// Per coarse cell: whether those around it are regular too, so that residuals come together in the regular way.
  Block<std::uint8_t> gathers_;
  /// Per side of the domain and block on it: the ghost beyond, as a multiple of the own value.
  std::array<std::vector<float>, 2 * D> mirrors_;
  RowChanges<D> around_;
  std::vector<TransferRun> interpolate_runs_, restrict_runs_;
  /// Irregular fine cells; entry (i, s) of their weights is at i * sources + s, padded with zero weights.
  std::vector<std::uint32_t> fine_cells_;
  std::vector<TransferEntry> fine_entries_;
  /// Irregular coarse cells and their weights [begin, next begin).
  std::vector<std::uint32_t> coarse_cells_;
  std::vector<Index> coarse_begin_;
  std::vector<TransferEntry> coarse_entries_;
  /// Blocks with listed residuals (so many, and then those that only give corrections), the first of their listed fine cells, and
  /// per block that is not regular its number, or -1 if it has no unknowns.
  Index gathering_blocks_ = 0;
  std::vector<Coord<D>> blocks_;
  std::vector<Index> block_begin_;
  Block<std::int32_t> block_number_;
};

}  // namespace meniscus::grid
