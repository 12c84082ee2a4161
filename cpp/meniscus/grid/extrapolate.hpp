/// Extrapolation of a field from known samples to unknown ones.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Gives unknown samples the mean of the known samples across their faces, layer by layer. `known` has the owned extents of the
/// field, nonzero where a sample is known, and is updated. Stops after `layers` layers or when no sample can be reached. Periodic
/// sides connect; other sides do not. A layer uses earlier layers only, so no direction is preferred. After one scan of the mask
/// the work is proportional to the number of samples reached, which is returned.
template <class T, int D>
Index extrapolate(Field<T, D>& field, std::uint8_t* known, Index layers, Workspace& workspace);

/// Likewise, but continues the known samples with their slopes: linear functions of position exactly. Slopes of more than
/// `max_slope` (per length) are reduced to it, so that noise does not grow from layer to layer.
template <class T, int D>
Index extrapolate_linearly(Field<T, D>& field, std::uint8_t* known, Index layers, double max_slope, Workspace& workspace);

/// Gives every face a velocity: those within `layers` layers of known ones by `extrapolate`, all others zero. `known` is updated.
template <class T, int D>
void fill_unknown_faces(MacField<T, D>& velocity, const std::array<std::uint8_t*, D>& known, Index layers, Workspace& workspace);

}  // namespace meniscus::grid
