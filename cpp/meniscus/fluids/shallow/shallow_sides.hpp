/// Sides of shallow water: walls, given inflow, given level, and open water beyond.
///
/// States on a side follow from the Riemann invariant u + 2 sqrt(G h) that leaves the domain, and from what the side gives.
#pragma once

#include "meniscus/core/types.hpp"

#include <array>
#include <vector>

namespace meniscus::fluids {

/// wall: no flow across. joined: the other side follows. open: still or moving water beyond, whose waves come in and into which
/// waves leave; what leaves at an angle t of incidence is reflected by (1 - cos t) / (1 + cos t), as by Higdon's first order.
/// inflow: a given discharge, and where that is faster than waves a depth. outflow: a given level, or what comes.
enum class ShallowSideKind : int { wall, joined, open, inflow, outflow };

/// One side, with values per cell along it; NaN: not given.
struct ShallowSide {
  ShallowSideKind kind = ShallowSideKind::wall;
  std::vector<double> level;      ///< of the surface beyond, m (open, outflow); depth of the inflow, m (inflow)
  std::vector<double> discharge;  ///< into the domain, m^2/s (inflow)
  std::vector<double> along;      ///< velocity along the side of what comes in, m/s (open, inflow)
};

/// Sides x-, x+, y-, y+.
using ShallowSides = std::array<ShallowSide, 4>;

/// Depth (m), velocity outward (m/s) and along a side.
struct SideState {
  double depth = 0;
  double outward = 0;
  double along = 0;
};

/// The state on a side at its cell k, from that inside, the height of the ground (m) and the acceleration of gravity (m/s^2).
SideState state_on_side(const ShallowSide& side, Index k, const SideState& inside, double ground, double gravity);

}  // namespace meniscus::fluids
