// Normal impulses of all contacts at once, for small systems.
#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <algorithm>

namespace meniscus::solids {

void RigidSystem::solve_exactly() {
  const std::size_t n = points_.size();
  if (n == 0) return;
  matrix_.assign(n * n, 0.0);
  u_.resize(n);
  p_.assign(n, 0.0);
  // What each impulse does to each point, over the bodies that both have.
  for (const SolverGroup& g : groups_)
    for (const SolverGroup& other : groups_)
      for (std::size_t s = 0; s < 2; ++s)
        for (std::size_t t = 0; t < 2; ++t) {
          if (g.bodies[s] != other.bodies[t] || !moves(g.bodies[s])) continue;
          const double sign = s == t ? 1 : -1;
          for (Index i = g.first; i < g.first + g.count; ++i)
            for (Index j = other.first; j < other.first + other.count; ++j) {
              const ImpulseRow &row = points_[i].normal, &push = points_[j].normal;
              matrix_[i * n + j] +=
                  sign * (push.inverse_mass[t] * row.direction.dot(push.direction) + row.arm[s].dot(push.turned[t]));
            }
        }
  // Relative velocities without the present impulses, against what is allowed.
  for (const SolverGroup& g : groups_)
    with_bodies(g.bodies, velocities_, [&](const RigidVelocity& first, const RigidVelocity& second) {
      for (Index i = g.first; i < g.first + g.count; ++i) u_[i] = points_[i].normal.velocity(first, second) - points_[i].target;
    });
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) u_[i] -= matrix_[i * n + j] * points_[j].impulse;
  // Points that only bodies at rest share do not count.
  for (std::size_t i = 0; i < n; ++i)
    if (!(matrix_[i * n + i] > 0)) matrix_[i * n + i] = 1, u_[i] = 0;
  if (!solve_lcp(matrix_, u_, p_, static_cast<int>(50 * n + 100), lcp_)) {
    report_.exact = false;
    return;
  }
  for (const SolverGroup& g : groups_)
    with_bodies(g.bodies, velocities_, [&](RigidVelocity& first, RigidVelocity& second) {
      for (Index i = g.first; i < g.first + g.count; ++i) {
        SolverPoint& c = points_[i];
        c.normal.apply(p_[i] - c.impulse, first, second);
        c.change = std::abs(p_[i] - c.impulse) * c.normal.response;
        c.impulse = p_[i];
      }
    });
}

}  // namespace meniscus::solids
