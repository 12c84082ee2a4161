/// Implicit viscosity of a liquid whose surface is free of traction, or of a liquid and the air around it.
///
/// Minimises  rho/2 |u - u*|^2 + dt mu D(u):D(u)  over the liquid, all components together: mass on faces, diagonal stresses at
/// cell centres, the others at edges (in 2-D: nodes), each with the part of the volume around it that is liquid. Air then exerts
/// no stress, and the minimum meets the condition at the surface by itself. With a density of its own, air fills the rest of
/// each volume with its own mass and viscosity, and stresses are continuous.
///
/// Walls and solids without slip are Dirichlet conditions at their velocity; free slip carries no shear; an open side is free of
/// traction, as the surface is.
///
/// Source: Batty and Bridson 2008, "Accurate viscous free surfaces for buckling, coiling, and rotating liquids", sections 3
/// and 4.
#pragma once

#include "meniscus/fluids/liquid/liquid_fractions.hpp"
#include "meniscus/fluids/viscosity/component_multigrid.hpp"
#include "meniscus/fluids/viscosity/viscosity_problem.hpp"
#include "meniscus/numerics/block_vectors.hpp"
#include "meniscus/numerics/solve_info.hpp"
#include "meniscus/parallel/halo_plan.hpp"

#include <span>

namespace meniscus::fluids {

/// Viscosity solver that reuses coefficients and scratch memory between steps on one grid.
template <int D>
class LiquidViscositySolver {
 public:
  explicit LiquidViscositySolver(const grid::Grid<D>& grid);

  const grid::Grid<D>& grid() const { return grid_; }
  Index bytes() const;

  /// Diffuses the velocity for dt seconds. Faces without liquid around them are unchanged where air exerts no stress. Returns
  /// whether it converged; if not, nothing changes.
  template <class T>
  bool diffuse(grid::MacField<T, D>& velocity, double dt, const ViscosityProblem<T, D>& problem,
               const numerics::SolveOptions& options, numerics::SolveInfo& info);

  // --- interface for Krylov methods (numerics/conjugate_gradients.hpp) ---
  using Vector = Block<double>;
  using Correction = Block<double>;
  void multiply(Vector& p, Vector& q);
  void precondition(const Vector& r, Correction& z);
  void project(Vector&) const {}
  double inner_product(const Vector& u, const Vector& v) const;
  void combine(double alpha, const Vector& p, double beta, Vector& y) const { meniscus::numerics::combine(alpha, p, beta, y); }

 private:
  /// Stresses: the diagonal ones by axis, then those of the pairs of axes.
  static constexpr int pairs = D * (D - 1) / 2;
  static constexpr int stresses = D + pairs;

  /// Why the value of a face is given (zero: it is not, or it is no unknown).
  enum Given : std::uint8_t { not_given, given_by_side, given_by_solid };

  template <class T>
  void describe_faces(const grid::MacField<T, D>& velocity, const ViscosityProblem<T, D>& problem);
  template <class T>
  void describe_stresses(const grid::MacField<T, D>& velocity, double dt, const ViscosityProblem<T, D>& problem);
  template <class T>
  void describe_edge(const grid::MacField<T, D>& velocity, int pair, Coord<D> c, Index i, double strength);
  void describe_rows(double strength);
  /// Exchanges arrays that follow each other in memory, with one message for each side.
  template <class T>
  void exchange_all(T* first, int count) {
    std::array<parallel::HaloArray<D>, D*(D + 1) / 2> arrays;
    for (int k = 0; k < count; ++k) arrays[k] = {layout_.halo, first + k * layout_.size};
    layout_.halo.exchange_together(std::span(arrays).first(count));
  }
  /// stress = weights times the strain rates of the faces.
  void find_stresses(Vector& faces);
  /// to = forces of the stresses on the unknowns, plus their masses times `faces` where not null.
  void gather(const double* faces, double* to) const;
  /// Part of the volume around a place that lies in the domain; arguments as of `LiquidFractions::around`.
  double room_around(const Coord<D>& c, int axes) const;
  /// Whether a sample with this coordinate lies beyond the cells along an axis.
  bool beyond(int axis, Index coordinate) const { return coordinate >= cells_.cells[axis]; }

  grid::Grid<D> grid_;
  grid::CellLayout<D> cells_;
  /// Layout of faces, cells and edges: one more than cells along axes that have a side where the block ends. A face, edge or node
  /// has the index of the cell above it. The ghosts and the last layer take samples beyond the sides.
  grid::CellLayout<D> layout_;
  LiquidFractions<D> fractions_;
  /// By component.
  Block<std::uint8_t> given_, unknown_;
  Vector mass_, inverse_diagonal_, fixed_, x_, b_, r_, p_, q_, z_;
  /// By stress.
  Block<double> weight_, stress_;
  ComponentMultigrid<D> components_;
  bool multigrid_ = false, order_free_ = false;
};

}  // namespace meniscus::fluids
