#include "meniscus/solids/integrators/time_step.hpp"

#include <cmath>
#include <limits>

namespace meniscus::solids {
namespace {

/// The largest value per mass of the nodes that forces can move.
double largest_per_mass(const DeformableBody& body, std::span<const double> values) {
  const Constraints& c = body.constraints();
  const auto m = body.masses();
  return nodes::largest(body.size(), [&](std::size_t i) {
    const ConstraintKind kind = c.kind(static_cast<Index>(i));
    return kind == ConstraintKind::fixed || kind == ConstraintKind::moved || std::isinf(m[i]) ? 0.0 : values[i] / m[i];
  });
}

/// Twice the largest sum of the bounds of all forces per mass.
template <class Add>
double twice_the_largest(const DeformableBody& body, Workspace& workspace, Add&& add) {
  const auto lease = workspace.take<double>(body.size());
  const std::span<double> sum(lease.data(), static_cast<std::size_t>(body.size()));
  nodes::each(body.size(), [&](std::size_t i) { sum[i] = 0; });
  for (const auto& force : body.forces()) add(*force, sum);
  return 2 * largest_per_mass(body, sum);
}

double stiffness_of(const DeformableBody& body, Workspace& workspace) {
  return twice_the_largest(body, workspace,
                           [&](const Force& force, std::span<double> sum) { force.add_stiffness_bounds(body.positions(), sum); });
}

}  // namespace

TimeStepBounds time_step_bounds(const DeformableBody& body, Workspace& workspace) {
  TimeStepBounds r;
  r.spectrum.stiffness = stiffness_of(body, workspace);
  if (body.damped())
    r.spectrum.damping = twice_the_largest(
        body, workspace, [&](const Force& force, std::span<double> sum) { force.add_damping_bounds(body.positions(), sum); });
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const auto& force : body.forces()) {
    const DampingRatios ratios = force->damping_ratios(body.positions());
    least = std::min(least, ratios.least);
    most = std::max(most, ratios.most);
    const double rate = force->strain_rate(body.positions(), body.velocities());
    if (!(rate <= r.strain_rate)) r.strain_rate = rate;
  }
  r.spectrum.ratios = {least, most};
  return r;
}

double elastic_time_step(const DeformableBody& body, Workspace& workspace) {
  const double square = stiffness_of(body, workspace);
  return square > 0 ? 2 / std::sqrt(square) : std::numeric_limits<double>::infinity();
}

}  // namespace meniscus::solids
