/// Positions that coincide, as where each triangle of a file has corners of its own.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <vector>

namespace meniscus::mesh {

/// For each position the lowest number of those that it coincides with: positions with the same coordinates, and those joined by
/// steps of at most `tolerance`, m. In parallel; the same on any number of threads.
std::vector<std::int32_t> coincident_positions(std::span<const Point> positions, double tolerance);

}  // namespace meniscus::mesh
