/// Orders in which points are inserted into a triangulation: near each other, and coarse before fine.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <vector>

namespace meniscus::mesh {

/// The number of a cell along a Hilbert curve through a cube of 2^17 cells along each axis.
std::uint64_t hilbert_code(std::array<std::uint32_t, 3> cell);

/// A permutation of points: rounds that double in size, points chosen at random (by a fixed seed) for a round, each round along a
/// Hilbert curve. So neighbours in the order are neighbours in space, and no input makes insertion one by one slow.
///
/// Sources: Amenta, Choi and Rote, "Incremental constructions con BRIO", 2003; Skilling, "Programming the Hilbert curve", 2004.
std::vector<std::int32_t> insertion_order(std::span<const Point> points);

}  // namespace meniscus::mesh
