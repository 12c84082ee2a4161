/// Solver of all Poisson problems of the library: conjugate gradients in double precision, preconditioned by a multigrid cycle in
/// single precision, matrix-free on face coefficients.
#pragma once

#include "meniscus/grid/poisson/connected/connected_cycle.hpp"
#include "meniscus/grid/poisson/engines/engine_system.hpp"
#include "meniscus/grid/poisson/poisson_hierarchy.hpp"
#include "meniscus/grid/poisson/poisson_regions.hpp"
#include "meniscus/numerics/solve_info.hpp"

#include <cmath>

namespace meniscus::grid {

/// Fill `matrix`, call `prepare`, then fill `b` (and `x`) and call `solve`, also repeatedly. All arrays have the matrix's layout.
template <int D>
class PoissonSolver {
 public:
  FaceMatrix<double, D> matrix;
  /// Right-hand side and solution; zero in cells that are no unknowns.
  Block<double> b, x;

  /// Derives regions and multigrid levels from the matrix. `matrix.finish()` is done here.
  void prepare();
  /// The same bits, but only what depends on rows in which coefficients have changed since the last call is derived anew. A new
  /// layout, mass or open coupling counts as a change of everything.
  void prepare(const RowChanges<D>& changed);

  const PoissonRegions<D>& regions() const { return regions_; }

  /// See SolveOptions::order_free; for sums over regions before a solve, which sets it too.
  void set_order_free(bool yes) {
    order_free_ = yes || matrix.layout.halo.block().cut() || matrix.layout.halo.communicator().any_number_of_blocks();
    regions_.set_order_free(order_free_);
  }

  /// Solves to the given tolerance. The right-hand side loses its mean over each closed region, and so does the solution.
  /// `start_is_zero`: x is not read. Returns with info.converged false where the tolerance is not met. A right-hand side of which
  /// these means, and what was subtracted before (of the norm `subtracted`), leave no more than rounding counts as zero: in what
  /// rounding leaves, most may be what the matrix cannot produce.
  void solve(const numerics::SolveOptions& options, bool start_is_zero, numerics::SolveInfo& info, double subtracted = 0.0);

  /// Norms of the residual of the last solve per region, relative to the norm of the whole right-hand side.
  void region_residuals(std::vector<double>& norms);

  /// Bytes held by the arrays.
  Index bytes() const;

  // --- interface for Krylov methods (numerics/conjugate_gradients.hpp) ---
  using Vector = Block<double>;
  using Correction = Block<float>;
  void multiply(Vector& p, Vector& q);
  void precondition(const Vector& r, Correction& z);
  /// Goes over to the cycle that follows what is connected where the geometric one would take long; returns whether it did.
  bool change_preconditioner(const numerics::SolveOptions& options, const numerics::SolveInfo& info);
  void project(Vector& v) const { regions_.remove_means(v.data()); }
  double inner_product(const Vector& u, const Vector& v) const;
  double inner_product(const Vector& u, const Correction& z) const;
  void combine(double alpha, const Vector& p, double beta, Vector& y) const;
  void combine(double alpha, const Correction& z, double beta, Vector& y) const;
  double multiply_dot(Vector& p, Vector& q);
  double residual(Vector& solution, const Vector& right, Vector& r) const;
  double reduce_residual(double alpha, const Vector& q, Vector& r) const;
  void advance(double alpha, double beta, const Correction& z, Vector& p, Vector& solution) const;

  PoissonHierarchy<D>& hierarchy() { return hierarchy_; }

  /// For Krylov methods of systems that contain this matrix: residuals of about this norm come to `precondition` next.
  void scale_residuals(double norm) { scale_ = norm > 0 ? std::sqrt(static_cast<double>(unknowns_)) / norm : 1.0; }

 private:
  bool is_met(const numerics::SolveOptions& options, numerics::SolveInfo& info);

  PoissonRegions<D> regions_;
  PoissonHierarchy<D> hierarchy_;
  ConnectedCycle<D> connected_;
  /// Whether `precondition` takes that.
  bool by_connection_ = false;
  /// Of the last call of prepare.
  CellLayout<D> prepared_layout_;
  std::array<double, D> prepared_coupling_{};
  double prepared_mass_ = 0;
  Block<double> r_, p_, q_;
  /// Of the last solve by another library.
  std::shared_ptr<EngineSystem<D>> engine_;
  /// Scales residuals into the range of single precision.
  double scale_ = 1.0;
  double norm_b_ = 0.0;
  /// Of a solve that has gone on.
  numerics::SolveInfo again_;
  Index unknowns_ = 0;  ///< of all blocks
  bool order_free_ = false;
};

}  // namespace meniscus::grid
