/// Implicit viscosity: solves (I - dt nu laplacian) u = u* for every component of a velocity.
///
/// Walls and solids without slip are Dirichlet conditions at their velocity, solids where the line between two samples meets
/// them: a part theta of the spacing away, with the coefficient 1/theta, so that the matrix stays symmetric (second order). Free
/// slip and open sides carry no shear. A face whose centre lies in a solid gets the solid's velocity, or, with free slip, is left
/// unchanged. Air carries no shear: faces between two air cells are left unchanged. Time discretisation is
/// backward Euler: first order, stable for any step. With the pressure of the last step, walls without slip let go of nothing
/// that the pressure balances: without, the flow that a projection leaves slips along them by the change of the viscous force in
/// a layer of sqrt(nu dt), however small the cells are.
///
/// Sources: Mueller et al. 2008, section 10.1 (viscosity in the splitting); Van Kan 1986, section 2 (the last pressure within
/// it); Gibou, Fedkiw, Cheng and Kang 2002, section 2 (Dirichlet conditions at their distance).
#pragma once

#include "meniscus/fluids/viscosity/body_traction.hpp"
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
    /// What the expected pressure changes.
    Block<double> push;
    bool moves = false;

    /// The part of the way from a face to one in the solid that is not in it.
    double way(Index outside, Index inside) const;
    /// The solid's velocity where that way ends.
    double at_wall(Index outside, Index inside) const;
  };

  template <class T>
  void describe(int axis, const grid::MacField<T, D>& velocity, double dt, const ViscosityProblem<T, D>& problem);
  template <class T>
  void assemble(int axis, const grid::MacField<T, D>& velocity, double mass, bool sticks);
  /// Rows of the bodies that the velocity moves.
  template <class T>
  void touch_bodies(int axis, const ViscosityProblem<T, D>& problem);

  grid::Grid<D> grid_;
  std::array<Component, D> components_;
  BodyTraction<D> traction_;
};

}  // namespace meniscus::fluids
