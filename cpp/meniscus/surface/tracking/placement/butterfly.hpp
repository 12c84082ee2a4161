/// Places of new vertices by modified butterfly subdivision, as weights of the vertices around.
///
/// Sources: Brochu 2012, section 3.2.4 (Edge split); Zorin, Schröder and Sweldens,
/// "Interpolating subdivision for meshes with arbitrary topology", 1996 (weights at vertices without six neighbours).
#pragma once

#include "meniscus/mesh/dynamic/dynamic_surface.hpp"

namespace meniscus::surface {

struct VertexWeight {
  std::int32_t vertex;
  double weight;
};

/// The sum of weight times of(vertex).
template <class T, class Of>
T weighted(std::span<const VertexWeight> weights, T sum, Of&& of) {
  for (const auto& [v, w] : weights) sum += w * of(v);
  return sum;
}

/// Weights of the middle of an edge, and those of the place that smooth surfaces get there: the middle on creases, cubics along a
/// boundary. A vertex may come twice; the sum is 1.
void midpoint_weights(std::int32_t a, std::int32_t b, std::vector<VertexWeight>& out);
void butterfly_weights(const mesh::DynamicSurface& s, std::int32_t a, std::int32_t b, std::vector<VertexWeight>& out);

/// Their place.
mesh::Point butterfly_point(const mesh::DynamicSurface& s, std::int32_t a, std::int32_t b);

/// Whether the boundary of an open surface turns at a vertex of it, by more than 37 degrees.
bool boundary_turns(const mesh::DynamicSurface& s, std::int32_t v);

}  // namespace meniscus::surface
