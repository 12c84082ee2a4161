/// Parts of a surface that consist of a few triangles.
#pragma once

#include "meniscus/mesh/dynamic/dynamic_surface.hpp"

namespace meniscus::surface {

/// Triangles; more are no small part.
constexpr std::size_t most_of_small_part = 16;

struct SmallPart {
  std::vector<std::int32_t> triangles;
  /// m^3.
  double volume = 0;
  /// Whether no edge has one triangle only.
  bool closed = false;
};

/// The triangles that are connected with one, over vertices; false where they are too many, or one of them is below `lowest`.
bool find_small_part(const mesh::DynamicSurface& surface, std::int32_t first, std::int32_t lowest, SmallPart& out);

}  // namespace meniscus::surface
