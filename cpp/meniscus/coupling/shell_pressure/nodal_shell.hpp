/// A deformable solid as the pressure of a fluid sees it: the linear system of its implicit step, S0 = M - a D - b K, by products
/// of its forces, and the fluid at its sheet as added mass. Solved by conjugate gradients. Their preconditioner is the Cholesky
/// factor of the matrix as far as elements tell what it couples, which mostly is all of it, else the 3 x 3 diagonal blocks.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/coupling/shell_pressure/probed_matrix.hpp"
#include "meniscus/coupling/shell_pressure/shell_solid.hpp"
#include "meniscus/numerics/conjugate_gradients.hpp"

#include <Eigen/SparseCholesky>

#include <memory>

namespace meniscus::coupling {

/// A symmetric matrix over the coordinates of nodes, 3 * node + axis, in compressed rows.
struct NodalMatrix {
  std::vector<Index> row_begin;
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  bool empty() const { return values.empty(); }
};

class NodalShell final : public ShellSolid {
 public:
  /// The forces must have been linearised, and act on nodes from 0 on. `damping` (a, s) and `stiffness` (b, s^2) are not
  /// negative. `matrix`: another part of S0, kg; may be empty. `held`: nodes whose velocities are projected, with the
  /// projections; masses may be infinite. Throws InvalidArgument for masses that are not above zero, and parts that do not fit.
  NodalShell(std::span<const double> masses, std::vector<std::shared_ptr<solids::Force>> forces, double stiffness, double damping,
             NodalMatrix matrix, std::span<const std::int32_t> held, std::span<const solids::Block3> projections);

  /// Lets the matrix be factored, and keeps it, if these are all that it couples: forces couple nodes within two elements of each
  /// other, `corners` numbers each.
  void couple(std::span<const std::int32_t> elements, int corners);
  /// Whether the last factor was found.
  bool factored() const { return factored_; }

  Index nodes() const override { return static_cast<Index>(masses_.size()); }
  void attach(std::span<const SheetSide> sides, Index first) override;
  using ShellSolid::respond;
  int respond(std::span<const mesh::Point> f, std::span<mesh::Point> v) override;
  double yield_alone(Index velocity) const override { return blocks_[velocity / 3](velocity % 3, velocity % 3); }
  void set_tolerance(double tolerance) override {
    options_.tolerance = tolerance;
    largest_residual_ = 0;
  }
  double largest_residual() const override { return largest_residual_; }

  /// Impulses f = S0 v, N s.
  void multiply(std::span<const mesh::Point> v, std::span<mesh::Point> f) const;

  // --- interface for Krylov methods (numerics/conjugate_gradients.hpp) ---
  using Vector = Block<double>;
  using Correction = Block<double>;
  void multiply(Vector& p, Vector& q);
  void precondition(const Vector& r, Correction& z);
  void project(Vector& v) const { project(points(v)); }
  double inner_product(const Vector& u, const Vector& v) const;
  void combine(double a, const Vector& x, double b, Vector& y) const;

 private:
  static std::span<mesh::Point> points(Block<double>& b) {
    return {reinterpret_cast<mesh::Point*>(b.data()), static_cast<std::size_t>(b.size() / 3)};
  }
  static std::span<const mesh::Point> points(const Block<double>& b) {
    return {reinterpret_cast<const mesh::Point*>(b.data()), static_cast<std::size_t>(b.size() / 3)};
  }
  void project(std::span<mesh::Point> v) const;
  void prepare_blocks();
  void assemble();
  void factor();

  std::vector<double> masses_;
  std::vector<std::shared_ptr<solids::Force>> forces_;
  double stiffness_, damping_;
  NodalMatrix matrix_;
  std::vector<std::int32_t> held_;
  std::vector<solids::Block3> projections_;
  /// Those of this solid, with its own numbers of nodes.
  std::vector<SheetSide> sides_;
  std::vector<solids::Block3> blocks_;
  /// Of S0, where it is known; the matrix with the attached fluid, among what is not held.
  NodalTriplets own_entries_, entries_;
  Eigen::SparseMatrix<double, Eigen::ColMajor, int> whole_;
  Eigen::SimplicialLLT<Eigen::SparseMatrix<double, Eigen::ColMajor, int>> cholesky_;
  bool coupled_ = false, factored_ = false;
  /// S0, where its entries give the same products as the forces, which are not asked any more then.
  Eigen::SparseMatrix<double, Eigen::RowMajor, int> own_;
  bool assembled_ = false;
  double largest_residual_ = 0;
  Block<double> x_, b_, r_, p_, q_, z_;
  numerics::SolveOptions options_{.tolerance = 1e-12, .max_iterations = 2000};
  numerics::SolveInfo info_;
};

}  // namespace meniscus::coupling
