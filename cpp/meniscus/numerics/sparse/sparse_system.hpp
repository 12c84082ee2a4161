/// Sparse symmetric positive (semi-)definite linear systems, solved by conjugate gradients over algebraic multigrid.
#pragma once

#include "meniscus/numerics/solve_info.hpp"
#include "meniscus/numerics/sparse/algebraic_multigrid.hpp"

namespace meniscus::numerics {

/// The unknowns of a part of a matrix that is coupled to no other part.
struct SparseRegion {
  Index begin = 0, end = 0;
  /// All rows sum to zero: the solution is known up to a constant, and right-hand sides must sum to zero.
  bool closed = false;
};

/// A matrix that falls apart into regions, which follow each other, with right-hand side and solution. Memory stays from solve to
/// solve. Models LinearSystem.
class SparseSystem {
 public:
  using Vector = std::vector<double>;
  using Correction = std::vector<double>;

  // What the caller fills, and `x` what it gets.
  CompressedRows matrix;
  std::vector<SparseRegion> regions;
  Vector b, x;

  /// To be called when the matrix or the regions have changed.
  void prepare(const AlgebraicMultigridOptions& options);
  /// Makes b sum to zero in closed regions, and solves A x = b; then x sums to zero there, too. With
  /// `start_is_zero` x is not read; otherwise the solve starts from x unless zero is closer.
  void solve(const SolveOptions& options, bool start_is_zero, SolveInfo& info);
  /// Norms of the residuals of the regions relative to that of b; after `solve`.
  void region_residuals(std::vector<double>& norms);

  const AlgebraicMultigrid& multigrid() const { return multigrid_; }
  Index bytes() const;

  // --- interface for Krylov methods (numerics/conjugate_gradients.hpp) ---
  void multiply(const Vector& p, Vector& q) const;
  /// A constant of a closed region is nothing to the matrix, but costs digits of the products with it.
  void precondition(const Vector& r, Correction& z) {
    multigrid_.precondition(r.data(), z.data());
    project(z);
  }
  /// Subtracts the mean in each closed region.
  void project(Vector& v) const;
  double inner_product(const Vector& u, const Vector& v) const;
  void combine(double alpha, const Vector& u, double beta, Vector& v) const;
  double residual(const Vector& from, const Vector& right, Vector& r) const;

 private:
  AlgebraicMultigrid multigrid_;
  Vector r_, p_, q_, z_;
};

}  // namespace meniscus::numerics
