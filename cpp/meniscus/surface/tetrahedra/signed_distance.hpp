/// A signed distance as a function of many points at a time.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <functional>

namespace meniscus::surface {

/// Fills the distances (m) of points (m): <= 0 in the solid. Called from one thread.
using SignedDistance = std::function<void(std::span<const mesh::Point>, std::span<double>)>;

}  // namespace meniscus::surface
