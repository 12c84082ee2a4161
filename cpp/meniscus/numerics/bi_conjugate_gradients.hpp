/// Stabilised bi-conjugate gradients for linear systems that are not symmetric.
///
/// Source: van der Vorst 1992.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/types.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace meniscus::numerics {

struct BiConjugateGradientsInfo {
  int iterations = 0;
  bool converged = false;
  std::vector<double> history;  ///< norms of residuals relative to the right-hand side, before the first and after each iteration
};

/// Solves A x = b from the x that is given; `multiply(in, out)` is the operator.
template <class Multiply>
BiConjugateGradientsInfo solve_bi_conjugate_gradients(Multiply&& multiply, std::span<const double> b, std::span<double> x,
                                                      double tolerance, int max_iterations) {
  const Index n = std::ssize(b);
  constexpr Index piece = 4096;
  const auto dot = [&](std::span<const double> u, std::span<const double> v) {
    return parallel_reduce(
        0, n, piece, 0.0,
        [&](Index begin, Index end) {
          double sum = 0.0;
          for (Index i = begin; i < end; ++i) sum += u[i] * v[i];
          return sum;
        },
        [](double s, double t) { return s + t; });
  };
  BiConjugateGradientsInfo info;
  const double scale = std::sqrt(dot(b, b));
  if (scale == 0.0) {
    for (double& value : x) value = 0.0;
    info.converged = true;
    info.history = {0.0};
    return info;
  }
  std::vector<double> r(n), shadow, p(n, 0.0), v(n, 0.0), s(n), t(n);
  multiply(std::span<const double>(x), std::span<double>(r));
  for (Index i = 0; i < n; ++i) r[i] = b[i] - r[i];
  shadow = r;
  double rho = 1.0, alpha = 1.0, omega = 1.0;
  info.history = {std::sqrt(dot(r, r)) / scale};
  while (!(info.converged = info.history.back() <= tolerance) && info.iterations < max_iterations) {
    const double next = dot(shadow, r);
    if (next == 0.0 || omega == 0.0) break;  // the shadow residual tells no more
    const double beta = next / rho * (alpha / omega);
    rho = next;
    for (Index i = 0; i < n; ++i) p[i] = r[i] + beta * (p[i] - omega * v[i]);
    multiply(std::span<const double>(p), std::span<double>(v));
    alpha = rho / dot(shadow, v);
    for (Index i = 0; i < n; ++i) s[i] = r[i] - alpha * v[i];
    multiply(std::span<const double>(s), std::span<double>(t));
    const double square = dot(t, t);
    omega = square > 0.0 ? dot(t, s) / square : 0.0;
    for (Index i = 0; i < n; ++i) {
      x[i] += alpha * p[i] + omega * s[i];
      r[i] = s[i] - omega * t[i];
    }
    ++info.iterations;
    info.history.push_back(std::sqrt(dot(r, r)) / scale);
  }
  return info;
}

}  // namespace meniscus::numerics
