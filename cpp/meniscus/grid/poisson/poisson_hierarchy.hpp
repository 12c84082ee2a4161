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
  /// Both in the layout of the matrix: those of the finest level, or of the own block.
  Block<float>& right_hand_side() { return windows_.empty() ? finest().b : own_b_; }
  Block<float>& correction() { return windows_.empty() ? finest().x : own_x_; }
  void cycle();

  /// Bytes held by the arrays of all levels.
  Index bytes() const;

  // Interface that numerics/multigrid.hpp requires.
  int levels() const { return static_cast<int>(levels_.size()); }
  void smooth_from_zero(int level) { at(level).smooth_from_zero(); }
  void restrict_residual(int level);
  void add_correction(int level);
  void smooth_adjoint(int level) { at(level).smooth_reversed(); }
  void solve_coarsest();

  const PoissonLevel<D>& level(int l) const { return levels_[static_cast<std::size_t>(l)]; }
  /// The rows of a level that the last build has derived anew.
  const RowChanges<D>& changes(int l) const { return changes_[static_cast<std::size_t>(l)]; }
  const PoissonTransfer<D>& transfer(int l) const { return transfers_[static_cast<std::size_t>(l)]; }

 private:
  void build_on_blocks(const FaceMatrix<double, D>& matrix);
  void load_finest(const FaceMatrix<double, D>& matrix);
  void move_to_window(std::size_t level);
  /// Whether the cells of the next level are divided among blocks in another way than by the coarsening.
  bool divided_anew(int level) const { return static_cast<std::size_t>(level) + 1 < windows_.size(); }
  PoissonLevel<D>& at(int level) { return levels_[static_cast<std::size_t>(level)]; }
  void invert_coarsest();

  // Deques, because levels do not move when others are added.
  std::deque<PoissonLevel<D>> levels_;
  std::deque<PoissonTransfer<D>> transfers_;
  std::deque<CellJoining<D>> joinings_;
  /// Rows of each level that the last build has derived anew.
  std::deque<RowChanges<D>> changes_ = std::deque<RowChanges<D>>(1);
  /// On a domain that is cut into blocks: the windows of the levels up to the first one that all blocks have. Part l holds the
  /// coarse cells of window l.
  std::deque<LevelWindow<D>> windows_;
  std::deque<PoissonLevel<D>> parts_;
  CellLayout<D> own_layout_;
  Index replicated_cells_ = replicated_cells;
  Block<float> own_b_, own_x_;
  /// The coarsest level: its unknowns, and the (pseudo-)inverse of its matrix.
  std::vector<Index> unknowns_;
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic> inverse_;
};

}  // namespace meniscus::grid
