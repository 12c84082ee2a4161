/// The path of one node past thin walls, for all components of a velocity: two straight ways.
///
/// Source: Guendelman et al. 2005, sections 4.1 and 4.2.
#pragma once

#include "meniscus/grid/nodes/node_advection.hpp"
#include "meniscus/grid/walls/one_sided.hpp"

namespace meniscus::grid {

/// The components of a velocity at nodes, with ghosts filled; on each side of the domain all continue in the same way, up to
/// signs and given values.
template <class T, int D>
using NodeSources = std::array<SampleSource<T, D>, D>;

/// The semi-Lagrangian values of one node; `dt` in seconds may be negative. Nodes that the base point does not see count as the
/// velocity of the wall in between, or as the mean of those that it does see (as the node's own value where it sees none). A node
/// that a wall covers keeps its values.
template <class T, int D>
std::array<PointSample<T>, D> advect_node_past_walls(const NodeSources<T, D>& nodes, const ThinWalls<D>& walls,
                                                     const Coord<D>& node, double dt, Trace trace, HiddenNodes hidden);

}  // namespace meniscus::grid
