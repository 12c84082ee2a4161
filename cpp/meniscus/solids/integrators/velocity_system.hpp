/// Linear systems of implicit steps: (M - a D - b K) v = M u, where D is the damping of all forces of a body and K the derivative
/// of its elastic forces, at the positions of the linearisation; a term of its own, such as contact, adds b times its second
/// derivative. Matrix-free, with 3 x 3 diagonal blocks as preconditioner and
/// the constrained velocities filtered out.
///
/// The unknowns are sqrt(mass) times velocity: residuals are then velocities weighted by mass, so that a tolerance means the same
/// for light and heavy nodes, and the matrix of a body without forces is the identity.
///
/// Sources: Selle 2008, sections 5.4 and 7.6; Baraff and Witkin 1998, section 5.
#pragma once

#include "meniscus/numerics/conjugate_gradients.hpp"
#include "meniscus/solids/integrators/multigrid/preconditioner.hpp"
#include "meniscus/solids/integrators/multigrid/velocity_multigrid.hpp"
#include "meniscus/solids/integrators/potential_term.hpp"

#include <optional>

namespace meniscus::solids {

/// Models LinearSystem.
class VelocitySystem {
 public:
  using Vector = Points;
  using Correction = Points;

  /// The forces of the body must have been linearised. `damping` (a, s) and `stiffness` (b, s^2) are not negative; what is zero
  /// is left out. The term must have been linearised too; multigrid knows nothing of it.
  VelocitySystem(const BodyStep& step, double damping, double stiffness, Preconditioner preconditioner,
                 PotentialTerm* term = nullptr);

  /// Lets a solve with these options end, by lowering its limit of iterations, as soon as the time for the step is used up.
  void end_when_late(numerics::SolveOptions& options) { options_ = &options; }

  /// Takes the diagonal blocks in place of multigrid, where that has failed, as numbers beyond single precision make it. False if
  /// they are in use already.
  bool fall_back();

  void multiply(Vector& p, Vector& q);
  double multiply_dot(Vector& p, Vector& q);
  void precondition(const Vector& r, Correction& z);
  void project(Vector& v) { step_.project(v); }
  double inner_product(const Vector& a, const Vector& b) const;
  void combine(double a, const Vector& x, double b, Vector& y) const;
  double reduce_residual(double alpha, const Vector& q, Vector& r) const;
  void advance(double alpha, double beta, const Vector& z, Vector& p, Vector& x) const;

  /// q += (a D + b K) u for velocities u, in N s, with the term.
  void add_forces(ConstPoints u, Points q) const;

  /// The norm of the largest diagonal entries of a D + b K of all free nodes, kg; 0 without preconditioner.
  double stiffness_size() const { return stiffness_size_; }

  /// 1 / sqrt(mass), zero for infinite masses. Drag acts like more mass.
  double scale(std::size_t i) const { return scale_.data()[i]; }

 private:
  void prepare_blocks();

  const BodyStep& step_;
  double damping_, stiffness_;
  PotentialTerm* term_;
  Preconditioner preconditioner_;
  std::optional<VelocityMultigrid> multigrid_;
  double stiffness_size_ = 0;
  Workspace::Lease<double> scale_;
  Workspace::Lease<Block3> blocks_;
  ScratchPoints u_;
  numerics::SolveOptions* options_ = nullptr;
};

/// Solves (M - damping D - stiffness K) v = M u. On entry `v` contains the prescribed velocities, which do not change, and a
/// first guess of the others. Returns false if the tolerance, relative to the right-hand side, was not met; v is then the last
/// iterate. Without forces to solve for, there are zero iterations.
bool solve_velocities(const BodyStep& step, double damping, double stiffness, ConstPoints u, Points v,
                      const numerics::SolveOptions& options, Preconditioner preconditioner, numerics::SolveInfo& info);

}  // namespace meniscus::solids
