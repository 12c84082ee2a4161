/// Poisson problem on plain C-ordered arrays: face coefficients, right-hand side and solution without ghosts or padding.
///
/// Each unknown cell has the equation  sum over its faces of coefficient * (x - x of the neighbour) = rhs.  Where the neighbour
/// is no unknown, its value is zero. Faces with coefficient zero carry no flux.
///
/// On a domain that is cut, the arrays are those of the own block, and all calls are collective; blocks that share a face hand in
/// the same coefficient for it.
///
/// Source: Selle 2008, sections 3.2 and 8.1.2.
#pragma once

#include "meniscus/grid/grid.hpp"
#include "meniscus/grid/poisson/poisson_solver.hpp"

namespace meniscus::grid {

/// Copies arrays to and from the layout of a PoissonSolver. Reuses the matrix, its multigrid levels and all scratch memory.
template <int D>
class ArrayPoissonSolver {
 public:
  explicit ArrayPoissonSolver(const Grid<D>& grid) : layout_(grid.block(), grid.communicator()) {}

  /// Sets the matrix. `faces`: per axis, one more value along that axis than cells; not negative. `active`: nonzero where a cell
  /// is an unknown; null: everywhere. Rows in which nothing has changed since the last call keep what was derived from them.
  /// Returns false, and changes nothing, if a coefficient of any block is negative or not finite.
  bool set_coefficients(const std::array<const double*, D>& faces, const std::uint8_t* active);

  /// Solves for one right-hand side. `x` is the initial guess with `warm_start`, and gets the solution; zero where there is no
  /// unknown. Throws InvalidArgument before the first set_coefficients.
  void solve(const double* rhs, double* x, const numerics::SolveOptions& options, bool warm_start, numerics::SolveInfo& info);

  /// out = A x, zero in cells that are no unknowns.
  void multiply(const double* x, double* out);

  /// Seconds that the last set_coefficients took for the multigrid levels.
  double setup_seconds() const { return setup_seconds_; }
  Index bytes() const { return solver_.bytes() + 8 * (from_.size() + to_.size()) + unknown_.size(); }
  const CellLayout<D>& layout() const { return layout_; }
  const PoissonRegions<D>& regions() const { return solver_.regions(); }
  int levels() { return solver_.hierarchy().levels(); }
  /// For systems that contain the matrix: its products, and the multigrid cycle as a preconditioner.
  PoissonSolver<D>& solver() { return solver_; }

 private:
  /// Marks the rows of faces that differ from those of the matrix; false if one holds a value that is no coefficient.
  bool compare_faces(const std::array<const double*, D>& faces);
  void guess_open_couplings(const std::array<const double*, D>& faces);
  void copy_faces(const std::array<const double*, D>& faces);
  void set_diagonal(const std::uint8_t* active);
  /// Calls body(index of the first cell of a row in the layout, index in an array), in parallel.
  template <class Body>
  void for_each_row(Body&& body) const;

  CellLayout<D> layout_;
  PoissonSolver<D> solver_;
  RowChanges<D> changes_;
  /// The cells that are unknowns where they have a coefficient, as they were given last.
  Block<std::uint8_t> unknown_;
  Block<double> from_, to_;
  double setup_seconds_ = 0;
  bool prepared_ = false;
};

}  // namespace meniscus::grid
