/// Algebraic multigrid by smoothed aggregation: a preconditioner of sparse symmetric positive (semi-)definite matrices whose
/// smooth vectors are constants, such as those of the Laplace equation on any mesh.
///
/// Source: Vanek, Mandel, Brezina, "Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems",
/// 1996.
#pragma once

#include "meniscus/numerics/sparse/aggregation.hpp"
#include "meniscus/numerics/sparse/chebyshev.hpp"
#include "meniscus/numerics/sparse/semidefinite_solver.hpp"
#include "meniscus/numerics/sparse/sparse_product.hpp"

#include <deque>

namespace meniscus::numerics {

struct AlgebraicMultigridOptions {
  /// Couplings below this share of the strongest one of either unknown are weak.
  double strength = 0.25;
  ChebyshevOptions smoother;
  /// At most this many unknowns are solved for directly.
  Index coarsest = 200;
};

/// A V-cycle. It depends on the matrix alone, not on what was built before, and its bits do not depend on the number of threads.
/// Constants of parts of the matrix that are closed (all rows sum to zero) are found on the coarser levels and left alone, so the
/// cycle is definite on all vectors that the matrix can produce.
class AlgebraicMultigrid {
 public:
  AlgebraicMultigrid() = default;
  AlgebraicMultigrid(const AlgebraicMultigrid&) = delete;
  AlgebraicMultigrid& operator=(const AlgebraicMultigrid&) = delete;

  /// Builds the levels in the memory of those before. `a` must stay as and where it is, and has positive diagonal entries.
  void build(const CompressedRows& a, const AlgebraicMultigridOptions& options);

  /// z = M r.
  void precondition(const double* r, double* z);

  int levels() const { return depth_; }
  /// Unknowns and entries of a level; 0 is the finest.
  Index unknowns(int level) const { return at(level).matrix->rows(); }
  Index entries(int level) const { return at(level).matrix->entries(); }
  Index bytes() const;

 private:
  struct Level {
    const CompressedRows* matrix = nullptr;
    CompressedRows own;
    /// Sums of the diagonal entries of the finest level, weighted with the squares of the interpolation: how large the numbers
    /// were from which an entry was summed.
    std::vector<double> scale;
    ChebyshevSmoother smoother;
    CompressedRows interpolation, restriction;
    std::vector<double> b, x, residual;
  };
  struct Cycle;

  void coarsen(Level& fine, Level& coarse);
  void interpolate(const CompressedRows& a, Index aggregates, CompressedRows& p) const;
  Level& at(int level) { return levels_[level]; }
  const Level& at(int level) const { return levels_[level]; }

  AlgebraicMultigridOptions options_;
  /// Levels refer to their matrices, which must not move.
  std::deque<Level> levels_;
  int depth_ = 0;
  SemidefiniteSolver coarsest_;
  // Scratch memory.
  StrongCouplings strong_;
  std::vector<std::int32_t> label_;
  std::vector<Index> next_;
  CompressedRows product_;
  SparseProduct multiply_;
};

}  // namespace meniscus::numerics
