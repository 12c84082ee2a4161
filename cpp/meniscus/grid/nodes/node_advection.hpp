/// Advection of a velocity at the nodes of its grid, while its faces persist: they take what nodes gain in a step.
///
/// One path is for all components of a node, where faces have one each. To average a velocity to the nodes and back would smooth
/// it in every step, however short; here the increments alone are smoothed, and a step without motion changes no bit.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw, "Coupling water and smoke to thin deformable and rigid shells", 2005,
/// section 4.2.
#pragma once

#include "meniscus/grid/transport/advect.hpp"

namespace meniscus::grid {

/// What nodes behind a wall count as.
enum class HiddenNodes {
  walls,  ///< the velocity of the wall where the way meets it
  mean,   ///< the mean of those that are visible
};

/// Carries a velocity along itself for dt > 0 seconds, in place, by the scheme semi_lagrangian, or maccormack on semi-Lagrangian
/// passes. Wall and prescribed faces then take their given values at the end of the step. Of the masks, `active` and
/// `first_order` count; a node beside a face of first order is of first order. Near walls nodes see faces and other nodes, and
/// faces see nodes, one-sidedly, and nodes are of first order. Unchanged if anything is thrown: InvalidArgument for another
/// scheme, hidden samples, a grid that is not that of the walls, samples that are not finite, or a dt that is not positive and
/// finite; Interrupted.
template <class T, int D>
AdvectInfo advect_at_nodes(MacField<T, D>& velocity, double dt, const AdvectOptions& options,
                           const std::array<AdvectMasks, D>& masks, Workspace& workspace, const ThinWalls<D>* walls = nullptr,
                           HiddenNodes hidden = HiddenNodes::walls);

}  // namespace meniscus::grid
