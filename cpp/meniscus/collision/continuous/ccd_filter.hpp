/// First filters of continuous collision detection: proofs in floating point, for many
/// pairs at a time, that a pair never touches.
///
/// A pair is dropped if its four points are never coplanar, or if along some axis one weight of the contact is always positive
/// and another always negative; first for the whole step, then for eight pieces of it. No rounding mode is switched: every sign
/// is compared with a bound of its error (ccd_polynomials.hpp).
///
/// Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, section 4.5.4 (culling before exact arithmetic); the
/// tests themselves are ours.
#pragma once

#include "meniscus/collision/continuous/ccd_polynomials.hpp"
#include "meniscus/collision/continuous/continuous_collision.hpp"

#include <bit>

namespace meniscus::collision::ccd {

/// A pair that may touch.
struct Candidate {
  /// Its number in the block.
  std::uint32_t pair;
  /// Bit j is set if it may touch in [j / 8, (j + 1) / 8] of the step.
  std::uint32_t pieces;
  /// In metres, or in a power of two of them.
  Differences start;
  Differences end;
  /// Bounds of the differences along the axes. If they are not `within_range`, floating-point bounds do not hold.
  Vector extent;
};

/// Pairs that are filtered together; their differences stay in the first-level cache.
inline constexpr std::size_t block_size = 64;
inline constexpr int pieces_per_step = 8;

/// The pair does not touch before this time.
inline double earliest(const Candidate& s) { return static_cast<double>(std::countr_zero(s.pieces)) / pieces_per_step; }

/// Fills `candidates` with those of at most `block_size` pairs that may touch, in order, and returns their number.
std::size_t find_candidates(PairKind kind, std::span<const mesh::Point> start, std::span<const mesh::Point> end,
                            std::span<const Stencil> pairs, std::array<Candidate, block_size>& candidates);

}  // namespace meniscus::collision::ccd
