/// Geometric multigrid preconditioner of a Poisson matrix, in single precision.
#pragma once

#include "meniscus/grid/poisson/levels/level_window.hpp"
#include "meniscus/grid/poisson/poisson_level.hpp"
#include "meniscus/grid/poisson/poisson_transfer.hpp"

#include <deque>

namespace meniscus::grid {

template <int D>
class PoissonHierarchy {
 public:
  /// Builds all levels from a finished matrix; reuses memory of the right size. With `changed`, only what depends on rows that
  /// have changed since the last call, to the same bits. Collective on a domain that is cut into blocks; there, all is built.
  void build(const FaceMatrix<double, D>& matrix, const RowChanges<D>* changed = nullptr);

  /// Levels of at most so many cells are computed by all blocks of a domain. For the next build with another layout.
  void replicate(Index most_cells) { replicated_cells_ = most_cells; }

  /// The finest level: its `b` is the right-hand side of a cycle, its `x` the result.
  PoissonLevel<D>& finest() { return levels_.front(); }
  /// Both on the finest level, where cell c of the matrix is at `place(c)`. Neighbours in a row are neighbours there.
  Block<float>& right_hand_side() { return finest().b; }
  Block<float>& correction() { return finest().x; }
  Index place(const Coord<D>& cell) const;
  /// Step from the place of the cells of a row in the matrix to that.
  Index step(Index row) const { return steps_.empty() ? 0 : steps_[row]; }
  void cycle();

  /// A cycle is one of so many times the matrix, a power of two: 1 unless coefficients are beyond the range of single precision.
  double unit() const { return unit_; }

  /// Bytes held by the arrays of all levels.
  Index bytes() const;

  // Interface that numerics/multigrid.hpp requires.
  int levels() const { return static_cast<int>(levels_.size()); }
  void smooth_from_zero(int level) { at(level).smooth_from_zero(); }
  void restrict_residual(int level);
  void add_correction(int level);
  void smooth_adjoint(int level) { at(level).smooth_reversed(); }
  void solve_coarsest();

  const PoissonLevel<D>& level(int l) const { return levels_[l]; }
  /// The rows of a level that the last build has derived anew.
  const RowChanges<D>& changes(int l) const { return changes_[l]; }
  const PoissonTransfer<D>& transfer(int l) const { return transfers_[l]; }

 private:
  void build_on_blocks(const FaceMatrix<double, D>& matrix);
  void load_finest(const FaceMatrix<double, D>& matrix);
  void move_to_window(const FaceMatrix<float, D>& part, std::size_t level);
  void prepare_window(std::size_t level);
  void coarsen_window(std::size_t level, FaceMatrix<float, D>& part);
  /// Whether the cells of the next level are divided among blocks in another way than by the coarsening.
  bool divided_anew(int level) const { return static_cast<std::size_t>(level) + 1 < windows_.size(); }
  PoissonLevel<D>& at(int level) { return levels_[level]; }
  void invert_coarsest();

  // Deques, because levels do not move when others are added.
  std::deque<PoissonLevel<D>> levels_;
  std::deque<PoissonTransfer<D>> transfers_;
  std::deque<CellJoining<D>> joinings_;
  /// Rows of each level that the last build has derived anew.
  std::deque<RowChanges<D>> changes_ = std::deque<RowChanges<D>>(1);
  /// The coarse cells of a window: restricted residuals, later the correction.
  struct WindowPart {
    CellLayout<D> layout;
    Block<float> values;
  };
  /// On a domain that is cut into blocks: the windows of the levels up to the first one that all blocks have. Part l belongs to
  /// window l.
  std::deque<LevelWindow<D>> windows_;
  std::deque<WindowPart> parts_;
  CellLayout<D> own_layout_;
  std::vector<Index> steps_;
  double unit_ = 1.0;
  Index replicated_cells_ = replicated_cells;
  /// The coarsest level: its unknowns, and the (pseudo-)inverse of its matrix.
  std::vector<Index> unknowns_;
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic> inverse_;
};

}  // namespace meniscus::grid
