/// Overlap of the boxes of two moving elements in a frame that moves with them. It culls pairs that both move fast in about the
/// same direction, whose boxes at rest overlap.
///
/// Source: Selle 2008, section 6.4 (a frame with the mean motion of the four points, at the leaves of the hierarchies).
#pragma once

#include "meniscus/collision/broad_phase/broad_phase.hpp"

namespace meniscus::collision {

/// Writes those pairs of the block whose boxes overlap in the frame; returns how many. Never drops a pair that collides, in spite
/// of rounding. `pairs` and `stencils` have room for all.
std::size_t overlapping_in_moving_frame(PairKind kind, std::span<const mesh::Point> start, std::span<const mesh::Point> end,
                                        const PairBlock& block, ElementPair* pairs, Stencil* stencils);

}  // namespace meniscus::collision
