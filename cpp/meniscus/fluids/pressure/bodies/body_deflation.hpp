/// Coarse space of bodies in the pressure: what each velocity of a body drives, nearby.
///
/// A body that is light beside the fluid that it moves adds eigenvalues as large as the ratio of the two, one for each of its
/// velocities, on which a multigrid cycle of the fluid alone knows nothing. For each, W holds the pressure that holds it, solved
/// for in a window around the body, and the preconditioner is exact in the span of W (deflation): with any W, however rough, the
/// pressures left over do not push bodies, and iterations do not depend on how light these are.
///
/// Source: Tang, Nabben, Vuik and Erlangga, "Comparison of two-level preconditioners derived from deflation, domain decomposition
/// and multigrid methods", 2009 (A-DEF2).
#pragma once

#include "meniscus/fluids/pressure/bodies/body_levels.hpp"
#include "meniscus/fluids/pressure/solid_impulses.hpp"
#include "meniscus/grid/blocks/image_window.hpp"
#include "meniscus/grid/poisson/poisson_solver.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <optional>

namespace meniscus::fluids {

template <int D>
class BodyDeflation {
 public:
  static constexpr int freedoms = 6;
  /// Cells around the cells of a body in which its pressure is solved for; as far as the body is wide, at most.
  static constexpr Index margin = 5;
  /// Steps of conjugate gradients in the window.
  static constexpr int steps = 8;
  /// A velocity is left out whose fluid has less than this part of its own inertia.
  static constexpr double least_ratio = 0.2;

  /// Makes W, for the rigid motions of all bodies, and factors W^T A W, A = L + B S^-1 scale B^T.
  void prepare(const grid::PoissonSolver<D>& poisson, const VolumeRows& rows, const BodyLevels<D>& levels, BodyResponse& solids,
               double scale);
  bool empty() const { return columns_ == 0; }
  Index columns() const { return columns_; }

  /// y = (W^T A W)^-1 W^T r.
  void weigh(const Block<double>& r, Eigen::VectorXd& y) const;
  /// z += factor W y.
  void add(const Eigen::VectorXd& y, double factor, Block<double>& z) const;
  Index bytes() const;

 private:
  /// The cells of a window that are unknowns, and the pressures there.
  struct Window {
    std::vector<Index> cell;
    /// freedoms values for each cell.
    std::vector<double> pressure, product;
    /// Of the cells of `product`, which reach one cell further.
    std::vector<Index> reach;
    /// The number of each freedom among the columns, -1 where it is left out.
    std::array<Index, freedoms> column;
    std::optional<grid::ImageWindow<D>> box;
  };
  void make_window(const grid::PoissonSolver<D>& poisson, std::span<const Index> cells, std::span<const double> rows,
                   Window& window) const;

  std::vector<Window> windows_;
  Index columns_ = 0;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace meniscus::fluids
