/// Geometric multigrid preconditioner of a Poisson matrix, in single precision.
#pragma once

#include "meniscus/grid/poisson/poisson_level.hpp"
#include "meniscus/grid/poisson/poisson_transfer.hpp"

#include <deque>

namespace meniscus::grid {

template <int D>
class PoissonHierarchy {
 public:
  /// Builds all levels from a finished matrix; reuses memory of the right size. With `changed`, only what depends on rows that
  /// have changed since the last call, to the same bits.
  void build(const FaceMatrix<double, D>& matrix, const RowChanges<D>* changed = nullptr);

  /// The finest level: its `b` is the right-hand side of a cycle, its `x` the result.
  PoissonLevel<D>& finest() { return levels_.front(); }
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
  PoissonLevel<D>& at(int level) { return levels_[static_cast<std::size_t>(level)]; }
  void invert_coarsest();

  // Deques, because levels do not move when others are added.
  std::deque<PoissonLevel<D>> levels_;
  std::deque<PoissonTransfer<D>> transfers_;
  std::deque<CellJoining<D>> joinings_;
  /// Rows of each level that the last build has derived anew.
  std::deque<RowChanges<D>> changes_ = std::deque<RowChanges<D>>(1);
  /// The coarsest level: its unknowns, and the (pseudo-)inverse of its matrix.
  std::vector<Index> unknowns_;
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic> inverse_;
};

}  // namespace meniscus::grid
