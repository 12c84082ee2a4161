/// Self-test of linear systems: checks with random vectors the properties that conjugate gradients rely on.
///
/// All defects are relative, and zero in exact arithmetic. A correct system shows defects at the round-off of its precision.
#pragma once

#include "meniscus/numerics/conjugate_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace meniscus::numerics {

struct SystemDefects {
  /// |<u, A v> - <v, A u>| / (|u| |A v|).
  double multiply_symmetry = 0;
  /// The least <u, A u> / (|u| |A u|): not negative (and above zero) where A is positive (semi-)definite.
  double multiply_definiteness = std::numeric_limits<double>::infinity();
  /// Defects of the preconditioner on vectors that can be solved for: symmetry, additivity and the least <u, M u> / (|u| |M u|),
  /// which must be above zero.
  double precondition_symmetry = 0;
  double precondition_additivity = 0;
  double precondition_definiteness = std::numeric_limits<double>::infinity();
  /// |P P u - P u| / |u|.
  double projection_idempotence = 0;
  /// |<u, P v> - <v, P u>| / (|u| |v|).
  double projection_symmetry = 0;
  /// |P A u - A u| / |A u|: the matrix produces nothing that the projection would remove.
  double range = 0;
  /// |A u - A P u| / |A u|: what the projection removes does not matter to the matrix.
  double null_space = 0;
};

/// `random_vector(n)` returns vector number n: random in the unknowns, and zero in whatever else a vector holds. `z` takes what
/// the preconditioner returns.
template <LinearSystem S, class RandomVector>
SystemDefects probe_system(S& s, typename S::Correction& z, RandomVector&& random_vector, int probes = 3) {
  using Vector = typename S::Vector;
  const auto dot = [&](const Vector& a, const Vector& b) { return static_cast<double>(s.inner_product(a, b)); };
  const auto norm = [&](const Vector& a) { return std::sqrt(dot(a, a)); };
  const auto ratio = [](double a, double b) { return b > 0 ? std::abs(a) / b : std::abs(a); };
  /// |a - b|; a is lost.
  const auto distance = [&](Vector& a, const Vector& b) {
    s.combine(-1.0, b, 1.0, a);
    return norm(a);
  };
  const auto copy = [&](const Vector& from, Vector& to) { s.combine(1.0, from, 0.0, to); };
  const auto correct = [&](const Vector& r, Vector& to) {
    s.precondition(r, z);
    s.combine(1.0, std::as_const(z), 0.0, to);
  };
  const auto worse = [](double& worst, double defect) {
    // A comparison that keeps NaN.
    if (!(defect <= worst)) worst = defect;
  };
  SystemDefects out;
  for (int n = 0; n < probes; ++n) {
    // `multiply` and `precondition` may fill ghosts, so u and v, which enter every inner product, are never handed to them to
    // change.
    const Vector u = random_vector(4 * n), v = random_vector(4 * n + 1);
    Vector a = random_vector(4 * n + 2), b = random_vector(4 * n + 3), scratch = random_vector(4 * n + 3);
    const double norm_u = norm(u), norm_v = norm(v);
    copy(u, scratch);
    s.multiply(scratch, a);
    copy(v, scratch);
    s.multiply(scratch, b);
    const double norm_a = norm(a);
    worse(out.multiply_symmetry, ratio(dot(u, b) - dot(v, a), norm_u * norm(b)));
    if (norm_a > 0) out.multiply_definiteness = std::min(out.multiply_definiteness, dot(u, a) / (norm_u * norm_a));
    copy(a, b);
    s.project(b);
    worse(out.range, ratio(distance(b, a), norm_a));

    copy(v, b);
    s.project(b);
    const double u_projected_v = dot(u, b);
    copy(u, b);
    s.project(b);
    worse(out.projection_symmetry, ratio(u_projected_v - dot(v, b), norm_u * norm_v));
    copy(b, scratch);
    s.project(scratch);
    worse(out.projection_idempotence, ratio(distance(scratch, b), norm_u));
    s.multiply(b, scratch);
    worse(out.null_space, ratio(distance(scratch, a), norm_a));

    Vector pu = random_vector(4 * n), pv = random_vector(4 * n + 1);
    s.project(pu);
    s.project(pv);
    const double norm_pu = norm(pu), norm_pv = norm(pv);
    correct(pu, a);
    correct(pv, b);
    worse(out.precondition_symmetry, ratio(dot(pv, a) - dot(pu, b), norm_pv * norm(a)));
    if (norm_pu > 0) out.precondition_definiteness = std::min(out.precondition_definiteness, dot(pu, a) / (norm_pu * norm(a)));
    s.combine(1.0, std::as_const(pv), 1.0, pu);
    correct(pu, scratch);
    s.combine(1.0, std::as_const(b), 1.0, a);
    const double size = norm(a);
    worse(out.precondition_additivity, ratio(distance(scratch, a), size));
  }
  return out;
}

}  // namespace meniscus::numerics
