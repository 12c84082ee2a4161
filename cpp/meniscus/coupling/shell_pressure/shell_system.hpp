/// Pressure of a fluid and velocities of the solids in it as one symmetric system ("monolithic").
///
/// The fluid's faces have masses M and velocities u, faces that sheets cut have the velocity J v of the solids, and every cell
/// keeps its volume. Least action over a step dt, with the pressure impulse p (N s/m^2) as multiplier:
///
///   u = u* + M^-1 A (p below - p above),
///   v = v0 + S^-1 J^T (m (w - J v0) + A sign p),       S = S0 + J^T m J,
///   (L + B S^-1 B^T) p = -(divergence with u* and the velocity of the solids without p),      B = A sign J.
///
/// v0: velocities after the solid's own implicit step without the fluid, S0 v0 = M v + dt f; w and m: velocity and mass of the
/// fluid between a cell centre and the sheet. The matrix is symmetric and positive (semi-)definite; products apply S^-1 to full
/// accuracy.
///
/// Preconditioner: the multigrid cycle of the fluid in which sheets are faces with effective masses ("links"), and a coarse
/// correction over the constants of closed regions, which the solids determine.
///
/// Source: Guendelman et al. 2005, section 5.1 (equation 6 is the cycle's matrix, with the solid's stiffness in the masses).
#pragma once

#include "meniscus/coupling/shell_pressure/shell_solid.hpp"
#include "meniscus/fluids/pressure/region_levels.hpp"
#include "meniscus/fluids/pressure/solid_impulses.hpp"
#include "meniscus/grid/poisson/array_poisson.hpp"
#include "meniscus/grid/regions/closed_regions.hpp"

#include <memory>

namespace meniscus::coupling {

/// A face that sheets cut, between the cells of these numbers in C order; -1 where a cell is no unknown. `link`: its coefficient
/// in the preconditioner.
struct CutFace {
  Index lower, upper;
  double link;
};

/// What a solve reports beside its iterations.
struct ShellSolveReport {
  /// Iterations of all responses of solids.
  Index inner_iterations = 0;
  /// The largest relative residual of these: above the tolerance of the solve, its matrix is not one matrix.
  double inner_residual = 0;
  /// Of the right-hand side: the largest mean over a region without an outlet, which no velocity can remove; m^3/s per cell
  /// (m^2/s).
  double incompatible = 0;
};

template <int D>
class ShellSystem final : public fluids::SolidResponse {
 public:
  using Faces = std::array<const double*, D>;

  explicit ShellSystem(const grid::Grid<D>& grid);

  /// `fluid`: A^2 / M per axis in C order, zero on walls and cut faces; `linked`: the same with links on cut faces. Solids are
  /// numbered in their order, each with its nodes after those of the one before. Returns false, and changes nothing, for
  /// coefficients that are negative or not finite; throws InvalidArgument for sides that do not fit.
  bool prepare(const Faces& fluid, const Faces& linked, const std::uint8_t* active, std::vector<SheetSide> sides,
               std::vector<CutFace> cuts, std::vector<std::shared_ptr<ShellSolid>> solids);

  /// Velocities of the nodes for impulses: v = S^-1 f, solid by solid.
  void respond(std::span<const mesh::Point> f, std::span<mesh::Point> v);
  Index velocities() const override { return 3 * node_count_; }
  /// The same by components, three for each node.
  int respond(std::span<const double> f, std::span<double> v) override;
  /// out[s] = the velocity of the sheet at side s.
  void side_velocities(std::span<const mesh::Point> v, std::span<double> out) const;
  /// f = J^T values.
  void gather_impulses(std::span<const double> values, std::span<mesh::Point> f) const;

  /// Solves for the pressure impulse, `x` per cell in C order; cells that are no unknowns get zero.
  void solve(const double* rhs, double* x, const numerics::SolveOptions& options, numerics::SolveInfo& info,
             ShellSolveReport& report);
  /// out = (L + B S^-1 B^T) x.
  void product(const double* x, double* out);

  Index side_count() const { return static_cast<Index>(sides_.size()); }
  Index node_count() const { return node_count_; }
  const grid::ClosedRegions& regions() const { return regions_; }
  /// Combinations of closed regions whose pressure nothing determines.
  Index null_vectors() const { return levels_.null().cols(); }

  // --- interface for Krylov methods (numerics/conjugate_gradients.hpp) ---
  using Vector = Block<double>;
  using Correction = Block<double>;
  void multiply(Vector& p, Vector& q);
  void precondition(const Vector& r, Correction& z);
  void project(Vector& v) const;
  double inner_product(const Vector& u, const Vector& v) const { return poisson_.solver().inner_product(u, v); }
  void combine(double a, const Vector& x, double b, Vector& y) const { poisson_.solver().combine(a, x, b, y); }

 private:
  using Points = std::span<mesh::Point>;
  Points forces() { return {forces_.data(), forces_.size()}; }
  Points node_velocities() { return {velocities_.data(), velocities_.size()}; }
  Index place(Index cell) const;
  /// out = (L + B S^-1 B^T) x without projection.
  void apply(Vector& p, Vector& q);
  /// Per pair of closed regions, what the pressure of one takes from the volume of the other, through the solids. Returns the
  /// largest entry per cell if nothing cancelled. `layers_together`: both layers of a face take half of each pressure, so that
  /// equal pressures on both of its sides move nothing.
  double fill_gram(Eigen::MatrixXd& gram, bool layers_together);
  /// Volumes of regions that only the distance of two layers between the same two centres could change are no unknowns either:
  /// the fluid between these is not resolved.
  void find_levels();
  /// Sums of a vector over the closed regions.
  void region_sums(const Vector& v, Eigen::VectorXd& sums) const;
  void add_to_regions(const Eigen::VectorXd& values, Vector& v) const;

  mutable grid::ArrayPoissonSolver<D> poisson_;
  std::vector<SheetSide> sides_;
  std::vector<CutFace> cuts_;
  fluids::VolumeRows rows_;
  /// Of the cells of cut faces in the layout of the pressure.
  std::vector<std::array<Index, 2>> cut_place_;
  std::vector<std::shared_ptr<ShellSolid>> solids_;
  Index node_count_ = 0;
  std::vector<mesh::Point> forces_, velocities_;
  grid::ClosedRegions regions_;
  fluids::RegionLevels levels_;
  mutable Eigen::VectorXd sums_;
  Block<double> x_, b_, r_, p_, q_, z_;
  Index inner_iterations_ = 0;
};

}  // namespace meniscus::coupling
