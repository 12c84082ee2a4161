/// Viscous tractions on rigid bodies in one solve with the diffusion of the velocity around them.
///
/// A sample u_i of a component, next to one in a body, feels the wall at the part theta of the way to it, where the body has the
/// velocity J V: the equation of u_i has the coefficient c = 1/theta for u_i - J V, and the body gets the same momentum,
///
///   m u_i + sum (u_i - u_j) + c (u_i - J V) = m u*_i,      S (V - V*) = kappa sum c J^T (u_i - J V),
///
/// with m = h^2 / (nu dt) and kappa = rho h^D / m. Eliminating V with S' = S + kappa sum c J^T J leaves one symmetric system for
/// all components of u, A - kappa B S'^-1 B^T with the rows B = c J, definite for bodies of any weight.
#pragma once

#include "meniscus/fluids/pressure/bodies/moving_bodies.hpp"
#include "meniscus/grid/poisson/poisson_solver.hpp"

namespace meniscus::fluids {

template <int D>
class BodyTraction {
 public:
  /// One system for each component.
  using Systems = std::array<grid::PoissonSolver<D>*, D>;

  /// Forgets the rows. `kappa` as above, kg.
  void begin(MovingBodies& bodies, double kappa);
  /// The sample of a component at `index`, with the coefficient c to the wall at a place with this row J.
  void touch(int axis, Index index, std::int32_t body, const Vector6& row, double coefficient);
  /// Factors S', once all samples are known.
  void factor();

  /// Solves for the `x` of the systems with their `b`, in which walls have the velocity that bodies begin with, and gives the
  /// bodies their velocities and impulses. Returns whether it converged.
  bool solve(const Systems& systems, const numerics::SolveOptions& options, numerics::SolveInfo& info);
  Index bytes() const;

  // --- interface for Krylov methods (numerics/conjugate_gradients.hpp) ---
  using Vector = std::array<Block<double>, D>;
  using Correction = Vector;
  void multiply(Vector& p, Vector& q);
  void precondition(const Vector& r, Correction& z);
  void project(Vector&) const {}
  double inner_product(const Vector& u, const Vector& v) const;
  void combine(double alpha, const Vector& p, double beta, Vector& y) const;

 private:
  /// impulse = kappa B^T u.
  void gather(const Vector& u, std::vector<double>& impulse) const;

  MovingBodies* bodies_ = nullptr;
  double kappa_ = 1;
  std::array<VolumeRows, D> rows_;
  /// kappa times the sum of c J^T J V*, what walls give while bodies keep their velocity.
  std::vector<double> given_;
  std::vector<double> impulse_, change_;
  mutable std::vector<double> part_;
  Systems systems_{};
  Vector x_, b_, r_, p_, q_, z_;
};

}  // namespace meniscus::fluids
