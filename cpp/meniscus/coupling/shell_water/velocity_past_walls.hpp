/// The velocity of a fluid at a point beside thin walls.
#pragma once

#include "meniscus/coupling/shell_water/level_samples.hpp"

namespace meniscus::coupling {

/// Linear interpolation of each component from the samples that an eye sees. There is no friction: the wall tells faces its
/// normal velocity, and what it hides is continued from this side. Where nothing is visible, the velocity of the wall counts.
template <class T, int D>
Vec<double, D> velocity_past_walls(const grid::VelocitySource<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                   const grid::OneSidedPlace<D>& at) {
  Vec<double, D> u;
  for (int d = 0; d < D; ++d) {
    const grid::SampleSource<T, D>& component = velocity.component[static_cast<std::size_t>(d)];
    u[d] = level_past_walls<T, D>(component, walls, at);
    if (!(u[d] == u[d])) u[d] = static_cast<double>(grid::sample_one_sided<T, D>(component, walls, {d, 0.0}, at).value);
  }
  return u;
}

}  // namespace meniscus::coupling
