/// Layers around the own cells of a block on which the results of a level depend.
///
/// A cycle needs less and less of them: a half-sweep reads one layer more than it writes, so each one stops a layer before the
/// one before it.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::grid {

/// Half-sweeps per smoothing: two full sweeps.
inline constexpr int half_sweeps = 4;

/// Corrected cells: the half-sweeps after a correction bring it to the own cells.
inline constexpr Index corrected_margin = half_sweeps;
/// Residuals that come to the coarse cells of a block: those of the next block of two, and of the second cell of the last one.
inline constexpr Index restricted_margin = 3;
static_assert(restricted_margin < corrected_margin, "the residual of a cell reads the cells beside it");
/// Right-hand sides: the half-sweeps before a residual begin so far outside.
inline constexpr Index right_hand_side_margin = corrected_margin + half_sweeps - 1;
/// The matrix: corrections reach the corrected cells from their blocks of two and those beside them, whose cells must be known
/// too. (One layer to whole blocks, two for those beside them, and one to begin at an even cell.)
inline constexpr Index level_margin = corrected_margin + 4;
static_assert(right_hand_side_margin < level_margin, "sweeps read the coefficients on both sides of a cell");

/// Layers in which half-sweep s writes: of the smoothing before a correction, and of its adjoint after it.
constexpr Index swept_margin(bool before_correction, int s) {
  return (before_correction ? corrected_margin : 0) + half_sweeps - 1 - s;
}

}  // namespace meniscus::grid
