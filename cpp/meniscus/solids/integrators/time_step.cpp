#include "meniscus/solids/integrators/time_step.hpp"

#include <cmath>
#include <limits>

namespace meniscus::solids {

TimeStepLimits time_step_limits(const DeformableBody& body, Workspace& workspace) {
  constexpr double none = std::numeric_limits<double>::infinity();
  const Index n = body.size();
  const auto lease = workspace.take<double>(n);
  const std::span<double> stiffness(lease.data(), static_cast<std::size_t>(n));
  nodes::each(n, [&](std::size_t i) { stiffness[i] = 0; });
  double rate = 0;
  for (const auto& force : body.forces()) {
    force->add_stiffness_bounds(body.positions(), stiffness);
    const double r = force->strain_rate(body.positions(), body.velocities());
    if (!(r <= rate)) rate = r;
  }
  const Constraints& c = body.constraints();
  const auto m = body.masses();
  const double highest = nodes::largest(n, [&](std::size_t i) {
    const ConstraintKind kind = c.kind(static_cast<Index>(i));
    return kind == ConstraintKind::fixed || kind == ConstraintKind::moved || std::isinf(m[i]) ? 0.0 : stiffness[i] / m[i];
  });
  return {highest > 0 ? 2 / std::sqrt(2 * highest) : none, rate > 0 ? 1 / rate : none};
}

}  // namespace meniscus::solids
