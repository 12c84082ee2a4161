/// Parallel marching: solution of |grad u| = 1 away from known distances, in rounds over strips.
#pragma once

#include "meniscus/surface/redistancing/distance_strips.hpp"

namespace meniscus::surface {

/// Lowers estimates until Godunov's first-order upwind equation holds at every sample below `band` (units of the spacing): the
/// fast iterative method (Jeong and Whitaker 2008) on strips instead of samples. Both sides of the interface at once, as final
/// samples keep them apart. The fixed point is the solution of fast marching. In a domain cut into blocks, strips are exchanged
/// after every colour. Returns the number of rounds.
template <class T, int D, class Visibility>
Index march_in_parallel(const DistanceStrips<T, D>& strips, StripQueue<D>& queue, StripExchange<D>& exchange, T band,
                        const Visibility& visibility);

}  // namespace meniscus::surface
