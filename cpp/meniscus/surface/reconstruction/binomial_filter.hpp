/// Smoothing of samples on a box of a lattice.
#pragma once

#include "meniscus/core/workspace.hpp"

#include <span>

namespace meniscus::surface {

/// Replaces each sample `passes` times, along each axis, by a quarter of both neighbours and half of itself. A pass adds 1/2 to
/// the variance of the kernel along each axis, in spacings squared. The sides act as mirrors half a spacing beyond the last
/// samples, so sums are kept, and where all samples around are equal, the result is that value to the last bit. Values are in C
/// order. What is within 2 * passes of a sample alone decides its bits.
void smooth_binomial(std::span<double> values, const Coord<3>& shape, int passes, Workspace& workspace);

/// Replaces each sample by the greatest of those no farther than `reach` away along every axis.
void dilate(std::span<double> values, const Coord<3>& shape, Index reach, Workspace& workspace);

}  // namespace meniscus::surface
