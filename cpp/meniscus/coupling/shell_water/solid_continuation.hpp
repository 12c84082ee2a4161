/// Continuation of a fluid into a solid beside thin walls, from samples that are visible alone.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.1 (what is beyond a shell says nothing of this side).
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::coupling {

/// How a continuation goes on, and what samples get that it does not reach.
struct SolidContinuation {
  int layers;
  bool linear;  ///< with the slope of the two samples before, at most one; else with constant values
  double unreached;
};

/// Finds samples of `field` anew where an ordinary continuation may have looked through a wall: those that are not `known` (owned
/// extents, C order) and no more than `layers` + 1 cells from a wall. Layer by layer, each takes the mean of what visible
/// neighbours along the axes say, those with two samples in a row first. Returns the number of samples.
template <class T, int D>
Index continue_past_walls(grid::Field<T, D>& field, const std::uint8_t* known, const grid::ThinWalls<D>& walls,
                          const SolidContinuation& how);

}  // namespace meniscus::coupling
