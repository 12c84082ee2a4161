/// Bounds of the time step of a body: stability of explicit elasticity and damping, strain in one step, and motion of prescribed
/// nodes.
///
/// Sources: Selle 2008, section 7.6 (strain rate and Courant condition); the limits of integrators are worked out here.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/solids/deformable_body.hpp"
#include "meniscus/solids/integrators/stability.hpp"

namespace meniscus::solids {

/// What limits the step of a body at its present positions and velocities.
struct TimeStepBounds {
  Spectrum spectrum;
  /// The fastest relative change of a length, 1/s.
  double strain_rate = 0;
};

/// Nodes that are fixed or moved, and infinite masses, count as walls.
TimeStepBounds time_step_bounds(const DeformableBody& body, Workspace& workspace);

/// 2 / w for the bound w of the highest elastic frequency, s; infinite without elasticity.
double elastic_time_step(const DeformableBody& body, Workspace& workspace);

}  // namespace meniscus::solids
