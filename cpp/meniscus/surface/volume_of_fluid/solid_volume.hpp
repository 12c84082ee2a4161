/// Volume of a solid as cut cells measure it.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::surface {

/// The volume, in cells, where a level set on the nodes of a box of cells (C order, negative inside, in any unit) is below a
/// level.
template <int D>
double solid_volume(const double* nodes, const Coord<D>& extents, double level);

}  // namespace meniscus::surface
