/// Longest stable steps of explicit integrators on x'' = -K x - D x', with masses divided out and K and D symmetric and positive
/// semidefinite, which need not commute.
///
/// An eigenvector u of the motion, or of a step of two-level methods, obeys the scalar equation with k = u* K u and d = u* D u,
/// so that bounds of K, D and their ratio are enough:
///
///   symplectic Euler, Verlet in both forms    dt^2 k + 2 dt d <= 4      (exact)
///   velocity Verlet                           dt d <= 2, dt^2 k <= 4 - 2 dt d + (dt d)^2; the condition above is taken
///   explicit Euler, RK2, RK4                  dt times the roots of r^2 + d r + k in the region |R| <= 1
///
/// Regions of explicit Euler and RK2 hold nothing of the imaginary axis: undamped oscillations grow by w^2 dt^2 / 2 or
/// w^4 dt^4 / 8 of their amplitude in every step, however short.
///
/// Source: own; regions of Runge-Kutta methods as in Hairer and Wanner, "Solving ordinary differential equations II", IV.2.
#pragma once

#include "meniscus/solids/force.hpp"
#include "meniscus/solids/integrators/integrator.hpp"

namespace meniscus::solids {

/// Bounds of the eigenvalues of K (1/s^2) and D (1/s), and of the ratios of D to K (s).
struct Spectrum {
  double stiffness = 0, damping = 0;
  DampingRatios ratios;
};

/// Seconds; infinite where every step is stable, 0 where none is. Implicit Euler and Newmark's method, whose damping is implicit,
/// are not explicit; for Newmark's method that of explicit elasticity is returned.
double stable_step(Integrator integrator, const Spectrum& spectrum);

}  // namespace meniscus::solids
