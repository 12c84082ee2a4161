/// Bounds of the time step of a body: stability of explicit elasticity, strain in one step, and motion of prescribed nodes.
///
/// Source: Selle 2008, section 7.6 (strain rate and Courant condition).
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/solids/deformable_body.hpp"

namespace meniscus::solids {

/// Seconds; infinite where there is no limit.
struct TimeStepLimits {
  /// 2 / w, where w bounds the highest frequency of the elastic forces at the present positions, from rows of the stiffness
  /// matrix: w^2 = 2 max(stiffness / mass).
  double frequency;
  /// The step in which the fastest-changing length would change by 100 %: a step may use a fraction of it.
  double strain;
};

/// Nodes that are fixed or moved, and infinite masses, count as walls.
TimeStepLimits time_step_limits(const DeformableBody& body, Workspace& workspace);

}  // namespace meniscus::solids
