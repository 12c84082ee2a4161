/// The velocity of a fluid at a point beside thin walls.
#pragma once

#include "meniscus/grid/walls/one_sided.hpp"

namespace meniscus::coupling {

/// Linear interpolation of each component from the samples that an eye sees; the velocity of the wall counts for others.
template <class T, int D>
Vec<double, D> velocity_past_walls(const grid::VelocitySource<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                   const grid::OneSidedPlace<D>& at) {
  Vec<double, D> u;
  for (int d = 0; d < D; ++d)
    u[d] = static_cast<double>(
        grid::sample_one_sided<T, D>(velocity.component[static_cast<std::size_t>(d)], walls, {d, 0.0}, at).value);
  return u;
}

}  // namespace meniscus::coupling
