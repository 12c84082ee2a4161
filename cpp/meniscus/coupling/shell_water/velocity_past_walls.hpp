/// The velocity of a fluid at a point beside thin walls.
#pragma once

#include "meniscus/grid/walls/one_sided.hpp"

namespace meniscus::coupling {

/// Linear interpolation of each component from the samples that an eye sees. There is no friction: the wall tells faces its
/// normal velocity, and what it hides is continued from this side. Where nothing is visible, the velocity of the wall counts.
template <class T, int D>
Vec<double, D> velocity_past_walls(const grid::VelocitySource<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                   const grid::OneSidedPlace<D>& at);

/// Its gradient, 1/s, a row for each component; zero of components of which nothing is visible.
template <class T, int D>
Eigen::Matrix<double, D, D> gradient_past_walls(const grid::VelocitySource<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                                const grid::OneSidedPlace<D>& at);

}  // namespace meniscus::coupling
