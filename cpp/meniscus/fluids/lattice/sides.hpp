/// Sides of the domain of a lattice, and arrivals of the populations that leave through them.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/fluids/lattice/lattice_models.hpp"

#include <algorithm>
#include <span>

namespace meniscus::fluids::lattice {

/// around: they come in again on the other side. no_slip: half-way bounce back from a wall that has a velocity; also a side with
/// a given velocity of the fluid. free_slip: specular reflection. pressure: extrapolation at a given pressure. outflow: the same,
/// with a pressure that follows the waves that go out.
enum class SideKind : int { around, no_slip, free_slip, pressure, outflow };

/// One side of the box, in lattice units.
struct Side {
  SideKind kind = SideKind::no_slip;
  std::array<double, 3> velocity{};
  /// Density less 1 at a pressure side, and far away beyond an outflow.
  double density = 0.0;
  /// Share of the difference to `density` that an outflow forgets in each step.
  double relaxation = 0.0;
  /// One velocity for each cell of the side, component after component; empty: the same everywhere.
  core::Block<double> profile;

  /// Keeps the memory of a profile of the same size.
  void set_profile(std::span<const double> velocities) {
    const auto n = static_cast<Index>(velocities.size());
    if (profile.size() != n) profile = core::Block<double>(n);
    std::copy(velocities.begin(), velocities.end(), profile.data());
  }
};

/// Where the population that leaves a cell along a direction arrives.
struct Arrival {
  enum class Kind : int { inside, at, from_density };
  Kind kind = Kind::inside;
  int direction = 0;
  Index cell = 0;  ///< index of the cell where it arrives
  int side = -1;   ///< of the wall that it meets
};

/// The sides of a box; side 2 d is the lower, 2 d + 1 the upper one of axis d.
template <int D>
using Sides = std::array<Side, 2 * D>;

}  // namespace meniscus::fluids::lattice
