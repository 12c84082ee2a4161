/// Vertices at the boundary of a surface.
#pragma once

#include "meniscus/mesh/topology/vertex_stars.hpp"

namespace meniscus::surface {

/// Whether an edge at a vertex has other than two triangles, or two that are opposed.
inline bool has_rim(const mesh::VertexStars<3>& stars, Index v) {
  const auto triangles = stars.elements();
  for (const std::int32_t c : stars.at(v)) {
    const std::int32_t next = triangles[c / 3][(c % 3 + 1) % 3];
    int found = 0;
    for (const std::int32_t d : stars.at(v)) found += static_cast<int>(triangles[d / 3][(d % 3 + 2) % 3] == next);
    if (found != 1) return true;
  }
  return false;
}

}  // namespace meniscus::surface
