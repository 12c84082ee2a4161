/// Pressure of a fluid and velocities of solids as one system for conjugate gradients: the fluid's matrix and the products with
/// the rows of the solids, preconditioned by the fluid's multigrid cycle and the coarse spaces of bodies and of closed regions.
#pragma once

#include "meniscus/fluids/pressure/bodies/body_deflation.hpp"
#include "meniscus/fluids/pressure/bodies/body_levels.hpp"
#include "meniscus/fluids/pressure/solid_impulses.hpp"
#include "meniscus/grid/poisson/poisson_solver.hpp"

#include <utility>

namespace meniscus::fluids {

template <int D>
class CoupledPoisson {
 public:
  /// Numbers the closed regions of a pressure that was prepared, before its rows are made: cells of `pocket`s have none.
  void label(const grid::PoissonSolver<D>& poisson, Index least) { levels_.label(poisson, least); }
  /// Takes the parts of L + B S^-1 scale B^T, after `label`; they are referenced. `outlets`: for each body, whether something
  /// open touches it.
  void join(grid::PoissonSolver<D>& poisson, const VolumeRows& rows, std::span<const std::uint8_t> outlets, BodyResponse& solids,
            double scale);
  /// Solves for the `x` of `poisson` with its `b`, as `PoissonSolver::solve` does.
  void solve(const numerics::SolveOptions& options, bool start_is_zero, numerics::SolveInfo& info);
  /// v = S^-1 scale B^T x.
  static void answer(const double* x, const VolumeRows& rows, SolidResponse& solids, double scale, std::vector<double>& f,
                     std::vector<double>& v);
  /// Velocities of bodies in the coarse space.
  Index coarse() const { return deflation_.columns(); }
  const BodyLevels<D>& levels() const { return levels_; }
  Index bytes() const {
    return deflation_.bytes() + levels_.bytes() +
           8 * (r_.size() + p_.size() + q_.size() + z_.size() + s_.size() + w_.size() + t_.size());
  }

  // --- interface for Krylov methods (numerics/conjugate_gradients.hpp) ---
  using Vector = Block<double>;
  using Correction = Block<double>;
  void multiply(Vector& p, Vector& q);
  void precondition(const Vector& r, Correction& z);
  void project(Vector& v) const { levels_.project(v); }
  double inner_product(const Vector& u, const Vector& v) const { return poisson_->inner_product(u, v); }
  void combine(double a, const Vector& x, double b, Vector& y) const { poisson_->combine(a, x, b, y); }

 private:
  /// Weighs the cells at bodies that deform by (1 + e / l)^-1/2, with the entries l and e of the diagonals of L and, about, of
  /// B S^-1 B^T: where a body yields node by node, the cycle of the fluid alone would correct far too much.
  void weigh_cells();

  grid::PoissonSolver<D>* poisson_ = nullptr;
  const VolumeRows* rows_ = nullptr;
  BodyResponse* solids_ = nullptr;
  double scale_ = 1.0;
  std::vector<double> f_, v_;
  /// z = M r, M: the multigrid cycle in the space of pressures without a mean over closed regions, and the levels of these.
  void cycle(const Vector& r, Correction& z);

  BodyLevels<D> levels_;
  BodyDeflation<D> deflation_;
  std::vector<std::pair<Index, double>> weighed_;
  Eigen::VectorXd y_, y2_;
  Block<double> r_, p_, q_, z_, s_, w_, t_;
};

}  // namespace meniscus::fluids
