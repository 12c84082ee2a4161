/// Preconditioned conjugate gradients for symmetric positive (semi-)definite systems of any kind.
///
/// The method uses four operations of a system: `multiply` by the matrix, `precondition`, `project` onto the space in which the
/// system can be solved, and `inner_product`; vectors are updated with `combine`. A system that can do a group of these in one
/// pass over memory may also offer the fused forms. One with two preconditioners may offer `change_preconditioner`, which is
/// asked after every iteration and where the first one fails, and returns whether it has gone over to the other one: then the
/// method begins anew from where it is.
#pragma once

#include "meniscus/core/cancellation.hpp"
#include "meniscus/numerics/solve_info.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <utility>

namespace meniscus::numerics {

/// `Vector` holds unknowns, `Correction` what the preconditioner returns (perhaps in lower precision).
template <class S>
concept LinearSystem = requires(S s, typename S::Vector& v, const typename S::Vector& u, typename S::Correction& z, double a) {
  s.multiply(v, v);      // q = A p; may refresh ghosts of p
  s.precondition(u, z);  // z = M r
  s.project(v);          // removes what the matrix cannot produce
  { s.inner_product(u, u) } -> std::convertible_to<double>;
  { s.inner_product(u, std::as_const(z)) } -> std::convertible_to<double>;
  s.combine(a, u, a, v);  // y = a x + b y
  s.combine(a, std::as_const(z), a, v);
};

namespace detail {

template <LinearSystem S>
double multiply_dot(S& s, typename S::Vector& p, typename S::Vector& q) {
  if constexpr (requires { s.multiply_dot(p, q); }) {
    return s.multiply_dot(p, q);
  } else {
    s.multiply(p, q);
    return s.inner_product(p, q);
  }
}

/// r -= alpha q; returns the inner product of r with itself.
template <LinearSystem S>
double reduce_residual(S& s, double alpha, const typename S::Vector& q, typename S::Vector& r) {
  if constexpr (requires { s.reduce_residual(alpha, q, r); }) {
    return s.reduce_residual(alpha, q, r);
  } else {
    s.combine(-alpha, q, 1.0, r);
    return s.inner_product(r, r);
  }
}

/// r = b - A x; returns the inner product of r with itself.
template <LinearSystem S>
double residual(S& s, typename S::Vector& x, const typename S::Vector& b, typename S::Vector& q, typename S::Vector& r) {
  if constexpr (requires { s.residual(x, b, r); }) {
    return s.residual(x, b, r);
  } else {
    s.multiply(x, q);
    s.combine(1.0, b, 0.0, r);
    s.combine(-1.0, std::as_const(q), 1.0, r);
    return s.inner_product(std::as_const(r), std::as_const(r));
  }
}

/// x += alpha p, then p = z + beta p.
template <LinearSystem S>
void advance(S& s, double alpha, double beta, const typename S::Correction& z, typename S::Vector& p, typename S::Vector& x) {
  if constexpr (requires { s.advance(alpha, beta, z, p, x); }) {
    s.advance(alpha, beta, z, p, x);
  } else {
    s.combine(alpha, std::as_const(p), 1.0, x);
    s.combine(1.0, z, beta, p);
  }
}

}  // namespace detail

/// Vectors of one solve: `x` is the initial guess and the solution, `b` the right-hand side, the others are scratch.
template <LinearSystem S>
struct ConjugateGradientVectors {
  typename S::Vector& x;
  typename S::Vector& b;
  typename S::Vector& r;
  typename S::Vector& p;
  typename S::Vector& q;
  typename S::Correction& z;
};

/// Solves A x = b. The tolerance is relative to the norm of b, to which `project` must already have been applied; it is checked
/// with a residual computed anew. `start_is_zero` saves one product; an initial guess that is worse than zero is not used. `info`
/// reuses its memory.
template <LinearSystem S>
void conjugate_gradients(S& s, const ConjugateGradientVectors<S>& v, const SolveOptions& options, bool start_is_zero,
                         SolveInfo& info) {
  // The recursive residual of a semi-definite system slowly leaves the space that can be solved.
  constexpr int project_every = 8;
  info.iterations = 0;
  info.residual = 0;
  info.history.clear();
  info.converged = false;
  info.end = SolveEnd::none;
  const double norm_b = std::sqrt(s.inner_product(v.b, v.b));
  if (norm_b == 0) {
    s.combine(0.0, std::as_const(v.b), 0.0, v.x);
    info.history.push_back(0.0);
    info.converged = true;
    info.end = SolveEnd::zero_right_hand_side;
    return;
  }
  const double goal = options.tolerance * norm_b;
  const auto fresh_residual = [&] { return std::sqrt(detail::residual(s, v.x, v.b, v.q, v.r)); };
  double norm;
  if (start_is_zero) {
    s.combine(1.0, std::as_const(v.b), 0.0, v.r);
    norm = norm_b;
  } else {
    norm = fresh_residual();
    // A guess that is farther off than none would leave its rounding in the solution.
    if (!(norm <= norm_b)) {
      s.combine(0.0, std::as_const(v.b), 0.0, v.x);
      s.combine(1.0, std::as_const(v.b), 0.0, v.r);
      norm = norm_b;
    }
  }
  info.history.push_back(norm / norm_b);
  double best = norm;
  int restarts = 0;
  while (norm > goal && info.iterations < options.max_iterations && info.end == SolveEnd::none) {
    double rz_before = 0, alpha = 0;
    bool first = true, changed = false;
    // What is left after a restart is rounding, much of it perhaps in what the matrix cannot produce.
    if (info.iterations > 0) s.project(v.r);
    // Below the rounding of what it began with, the recursive residual tells nothing, and steps along it spoil the solution.
    const double least = std::max(goal, 0x1p-50 * norm);
    while (norm > least && info.iterations < options.max_iterations) {
      // A system may do everything in plain loops that cannot be interrupted.
      check_interrupt();
      if (info.iterations % project_every == project_every - 1) s.project(v.r);
      s.precondition(v.r, v.z);
      const double rz = s.inner_product(std::as_const(v.r), std::as_const(v.z));
      if (!(rz > 0)) {
        info.end = std::isnan(rz) ? SolveEnd::not_a_number : SolveEnd::indefinite_preconditioner;
        break;
      }
      if (first)
        s.combine(1.0, std::as_const(v.z), 0.0, v.p);
      else
        detail::advance(s, alpha, rz / rz_before, v.z, v.p, v.x);
      first = false;
      rz_before = rz;
      const double pq = detail::multiply_dot(s, v.p, v.q);
      if (!(pq > 0)) {
        alpha = 0;
        info.end = std::isnan(pq) ? SolveEnd::not_a_number : SolveEnd::indefinite_matrix;
        break;
      }
      alpha = rz / pq;
      norm = std::sqrt(detail::reduce_residual(s, alpha, v.q, v.r));
      ++info.iterations;
      info.history.push_back(norm / norm_b);
      if constexpr (requires { s.change_preconditioner(options, info); }) {
        changed = norm > least && info.iterations < options.max_iterations && s.change_preconditioner(options, info);
        if (changed) break;
      }
    }
    if constexpr (requires { s.change_preconditioner(options, info); }) {
      const bool preconditioner_failed = info.end == SolveEnd::not_a_number || info.end == SolveEnd::indefinite_preconditioner;
      if (preconditioner_failed && s.change_preconditioner(options, info)) {
        changed = true;
        info.end = SolveEnd::none;
      }
    }
    if (!first && alpha != 0) s.combine(alpha, std::as_const(v.p), 1.0, v.x);
    // Rounding separates the recursive residual from the true one. If that matters, restart from the
    // true one, as long as this makes progress.
    norm = fresh_residual();
    if (!changed && norm > goal && info.end == SolveEnd::none && (norm > 0.5 * best || ++restarts > 20) &&
        info.iterations < options.max_iterations)
      info.end = SolveEnd::round_off;
    best = std::min(best, norm);
  }
  info.residual = norm / norm_b;
  info.converged = norm <= goal;
  if (info.converged)
    info.end = SolveEnd::converged;
  else if (info.end == SolveEnd::none)
    info.end = SolveEnd::iteration_limit;
}

}  // namespace meniscus::numerics
