/// Implicit viscosity: solves (I - dt nu laplacian) u = u* for every component of a velocity.
///
/// Walls and solids without slip are Dirichlet conditions at their velocity, those of solids where the level set crosses the line
/// between two faces; free slip and open sides carry no shear. A face whose centre lies in a solid gets the solid's velocity, or,
/// with free slip, is left unchanged. Air carries no shear: faces between two air cells are left unchanged. Time discretisation
/// is backward Euler: first order, stable for any step.
///
/// Source: Mueller et al. 2008, section 10.1 (viscosity in the splitting); Gibou et al., "A second-order-accurate symmetric
/// discretization of the Poisson equation on irregular domains", 2002 (conditions between samples).
#pragma once

#include "meniscus/fluids/viscosity/viscosity_problem.hpp"
#include "meniscus/grid/poisson/poisson_solver.hpp"

namespace meniscus::fluids {

/// Viscosity solver that reuses matrices and scratch memory between steps on one grid.
template <int D>
class ViscositySolver {
 public:
  explicit ViscositySolver(const grid::Grid<D>& grid) : grid_(grid) {}

  const grid::Grid<D>& grid() const { return grid_; }
  Index bytes() const;

  /// Diffuses the velocity for dt seconds; the viscosity of the problem must be a number. Faces with a given value keep it. If
  /// any component does not converge, none changes and false is returned. `infos` reports each solve.
  template <class T>
  bool diffuse(grid::MacField<T, D>& velocity, double dt, const ViscosityProblem<T, D>& problem,
               const numerics::SolveOptions& options, std::array<numerics::SolveInfo, D>& infos);

 private:
  struct Component {
    grid::CellLayout<D> layout;
    grid::PoissonSolver<D> poisson;
    grid::RowChanges<D> changes;
    bool prepared = false;
    /// Reason why a value is given (zero: it is not), and the given values.
    Block<std::uint8_t> fixed;
    Block<double> value;
    /// Around a solid that sticks: its level set at the faces, m, and where it moves its velocity there.
    Block<double> distance, moving;
    bool moves = false;

    /// The part of the way from a face to one in the solid that is not in it.
    double way(Index outside, Index inside) const;
    /// The solid's velocity where that way ends.
    double at_wall(Index outside, Index inside) const;
  };

  template <class T>
  void describe(int axis, const grid::MacField<T, D>& velocity, const ViscosityProblem<T, D>& problem);
  template <class T>
  void solve(int axis, const grid::MacField<T, D>& velocity, double strength, bool sticks, const numerics::SolveOptions& options,
             numerics::SolveInfo& info);

  grid::Grid<D> grid_;
  std::array<Component, D> components_;
};

}  // namespace meniscus::fluids
