/// Checks of the arguments of a step of advection, and how far its traces lead.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/transport/trace_reach.hpp"
#include "meniscus/grid/transport/transport_pass.hpp"

#include <cmath>

namespace meniscus::grid {

/// Largest ways of a step, in cells.
struct AdvectionReach {
  double cfl;     ///< with the velocity of the faces
  double traced;  ///< with that beyond the sides of the domain too
};

/// Checks shared by scalars and vectors, after which the ghosts of the velocity are filled.
template <class T, int D>
AdvectionReach checked_reach(const Grid<D>& grid, MacField<T, D>& velocity, double dt, double time) {
  require(std::isfinite(dt) && dt > 0, "dt must be positive and finite, got ", dt);
  require(grid == velocity.grid(), "the field and the velocity must have the same grid");
  velocity.fill_ghosts(time);
  const SpeedRange speed = max_component_speeds(velocity);
  if (!std::isfinite(speed.faces)) {
    require_finite(velocity);
    require(false, "velocity must be finite, but a sample of another block is not");
  }
  return {speed.faces * dt / grid.spacing(), trace_reach(velocity, speed.with_ghosts, dt / grid.spacing(), 0.0, time)};
}

/// How far from a sample the velocity is asked for; upwind blocks do not trace.
inline double velocity_reach(const PassOptions& options, double traced) {
  return options.block == TransportBlock::upwind ? 0.0 : farthest_stage(options.trace) * traced;
}

}  // namespace meniscus::grid
