/// Fast marching: solution of |grad u| = 1 away from known distances, one sample after the other in order of distance.
#pragma once

#include "meniscus/surface/redistancing/distance_strips.hpp"

namespace meniscus::surface {

/// Fast marching (Sethian 1996) on both sides of the interface at once, up to `band` (units of the spacing), with a binary heap
/// in `workspace`; of equal distances the lower index is first. Final samples of touched strips are the seeds.
template <class T, int D, class Visibility>
void march(const DistanceStrips<T, D>& strips, T band, const Visibility& visibility, Workspace& workspace);

}  // namespace meniscus::surface
