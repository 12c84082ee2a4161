/// Dilation and erosion of masks by boxes.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::grid {

/// out[i] = 1 where mask is nonzero on all of i + [low, high]^D, low <= 0 <= high. Samples outside of the block count as set,
/// unless the mask repeats along an axis (`period` > 0, not above the extent); then its images count. The cost does not depend on
/// the size of the window. All three blocks are C-ordered with the given extents; `mask` must differ from the others.
template <int D>
void windowed_and(const Coord<D>& extents, const std::uint8_t* mask, Index low, Index high, std::uint8_t* out,
                  std::uint8_t* scratch, const Coord<D>& period = {});

}  // namespace meniscus::grid
