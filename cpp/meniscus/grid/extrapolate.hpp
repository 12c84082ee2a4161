/// Extrapolation of a field from known samples to unknown ones.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Layer by layer, gives every unknown sample next to known ones (across a face) the mean of those. `known` has the owned extents
/// of the field, nonzero where the sample is known, and is brought up to date. Stops after `layers` layers or when nothing is
/// left to reach. Periodic sides connect; other sides do not. A layer only uses earlier layers, so the result has no direction.
/// After one scan of the mask the work is proportional to the samples reached. Returns how many those are.
template <class T, int D>
Index extrapolate(Field<T, D>& field, std::uint8_t* known, Index layers, Workspace& workspace);

}  // namespace meniscus::grid
