#include "meniscus/fluids/shallow/shallow_sides.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

/// Depth at which a discharge (m^2/s) into the domain goes with an invariant that leaves it: 2 sqrt(G h) - q / h = invariant; not
/// below the critical depth, at which the flow is as fast as waves.
double inflow_depth(double discharge, double invariant, double gravity) {
  const double critical = std::cbrt(discharge * discharge / gravity);
  const auto excess = [&](double h) { return 2 * std::sqrt(gravity * h) - discharge / h - invariant; };
  if (discharge <= 0) return std::max(invariant, 0.0) * std::max(invariant, 0.0) / (4 * gravity);
  if (excess(critical) >= 0) return critical;
  double low = critical, high = 2 * critical;
  while (excess(high) < 0) high *= 2;
  double h = 0.5 * (low + high);
  constexpr int most = 60;
  for (int k = 0; k < most; ++k) {
    const double f = excess(h);
    (f < 0 ? low : high) = h;
    const double newton = h - f / (std::sqrt(gravity / h) + discharge / (h * h));
    const double next = newton > low && newton < high ? newton : 0.5 * (low + high);
    if (next == h) break;
    h = next;
  }
  return h;
}

SideState inflow(const ShallowSide& side, Index k, const SideState& inside, double gravity) {
  const double q = side.discharge[k], given = side.level[k];
  const bool fast = std::isfinite(given) && q > given * std::sqrt(gravity * given);
  // What runs out faster than waves lets nothing in; a given discharge out of the domain leaves at the depth inside.
  const double invariant = inside.outward + 2 * std::sqrt(gravity * inside.depth);
  const double h = fast ? given : q < 0 ? inside.depth : inflow_depth(q, invariant, gravity);
  return {h, h > 0 ? -q / h : 0.0, side.along[k]};
}

SideState outflow(double level, const SideState& inside, double ground, double gravity) {
  const double c = std::sqrt(gravity * inside.depth);
  if (!std::isfinite(level)) return {inside.depth, std::max(inside.outward, 0.0), inside.along};
  if (inside.outward >= c) return inside;
  const double invariant = inside.outward + 2 * c;
  const double h = std::max(level - ground, 0.0);
  const double u = invariant - 2 * std::sqrt(gravity * h);
  if (u <= std::sqrt(gravity * h)) return {h, u, inside.along};
  // The level beyond is too low to be felt: the flow leaves at the speed of waves.
  const double critical = std::max(invariant, 0.0) / 3;
  return {critical * critical / gravity, critical, inside.along};
}

SideState open(const ShallowSide& side, Index k, const SideState& inside, double ground, double gravity) {
  const double far = std::sqrt(gravity * std::max(side.level[k] - ground, 0.0)), near = std::sqrt(gravity * inside.depth);
  if (inside.outward >= near && near > 0) return inside;
  const double out = inside.outward + 2 * near, in = -2 * far;
  if (out <= in) return {0.0, 0.0, 0.0};
  const double c = 0.25 * (out - in), u = 0.5 * (out + in);
  return {c * c / gravity, u, u > 0 ? inside.along : side.along[k]};
}

}  // namespace

SideState state_on_side(const ShallowSide& side, Index k, const SideState& inside, double ground, double gravity) {
  switch (side.kind) {
    case ShallowSideKind::open:
      return open(side, k, inside, ground, gravity);
    case ShallowSideKind::inflow:
      return inflow(side, k, inside, gravity);
    case ShallowSideKind::outflow:
      return outflow(side.level[k], inside, ground, gravity);
    default:
      return {inside.depth, -inside.outward, inside.along};
  }
}

}  // namespace meniscus::fluids
