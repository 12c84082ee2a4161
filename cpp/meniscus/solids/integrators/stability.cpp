#include "meniscus/solids/integrators/stability.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace meniscus::solids {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();
using Complex = std::complex<double>;

/// Amplification of a step of Runge-Kutta's method of this order on x' = z x / dt.
double growth(int order, const Complex& z) {
  Complex sum = 1, term = 1;
  for (int k = 1; k <= order; ++k) sum += term *= z / static_cast<double>(k);
  return std::abs(sum);
}

/// How far the region of stability reaches from 0 in the direction of -cosine + i sine.
double reach(int order, double cosine) {
  const Complex direction(-cosine, std::sqrt(std::max(0.0, 1 - cosine * cosine)));
  // Rays leave the regions of the orders 1, 2 and 4 once, before radius 3; at first they are inside by more than round-off.
  double inside = 0, outside = 3;
  if (cosine < 1e-7) {
    // RK4 contains the imaginary axis up to sqrt(8), where rounding errors hide the inside near 0.
    if (order < 4) return 0;
    inside = 2;
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (inside + outside);
    (growth(order, middle * direction) <= 1 ? inside : outside) = middle;
  }
  return inside;
}

double runge_kutta_step(int order, const Spectrum& s) {
  constexpr int samples = 64;
  const double frequency = std::sqrt(s.stiffness);
  double longest = none;
  // Complex roots have the modulus w <= frequency and the real part -d / 2.
  for (int i = 1; i <= samples; ++i) {
    const double w = frequency * i / samples;
    if (w == 0) break;
    const double first = 0.5 * w * s.ratios.least, last = std::min(0.5 * s.damping / w, 0.5 * w * s.ratios.most);
    if (first >= 1) continue;
    const int angles = i == samples ? samples : 1;
    for (int k = 0; k < angles; ++k) {
      const double t = static_cast<double>(k) / samples;
      const double cosine = std::min(1.0, first + t * (std::max(first, std::min(1.0, last)) - first));
      longest = std::min(longest, reach(order, cosine) / w);
    }
  }
  // The largest real one: that of the greatest damping with the least stiffness.
  const double k = s.ratios.most == none ? 0 : s.ratios.most > 0 ? s.damping / s.ratios.most : 0;
  const double square = s.damping * s.damping - 4 * k;
  // Critical damping, up to rounding errors, counts as real.
  if (s.damping > 0 && square >= -1e-9 * s.damping * s.damping)
    longest = std::min(longest, reach(order, 1) / (0.5 * (s.damping + std::sqrt(std::max(0.0, square)))));
  return longest;
}

}  // namespace

double stable_step(Integrator integrator, const Spectrum& s) {
  switch (integrator) {
    case Integrator::explicit_euler:
      return runge_kutta_step(1, s);
    case Integrator::rk2:
      return runge_kutta_step(2, s);
    case Integrator::rk4:
      return runge_kutta_step(4, s);
    case Integrator::symplectic_euler:
    case Integrator::verlet:
    case Integrator::velocity_verlet: {
      const double sum = s.damping + std::sqrt(s.damping * s.damping + 4 * s.stiffness);
      return sum > 0 ? 4 / sum : none;
    }
    case Integrator::newmark:
      return s.stiffness > 0 ? 2 / std::sqrt(s.stiffness) : none;
    case Integrator::implicit_euler:
      break;
  }
  return none;
}

}  // namespace meniscus::solids
