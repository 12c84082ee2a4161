/// Points of a tetrahedron that stand for its volume in a step.
#pragma once

#include "meniscus/mesh/quadrature/tet_samples.hpp"

#include <algorithm>

namespace meniscus::fluids {

enum class WaterSampling : std::uint8_t {
  random,
  independent,
  fixed,
  /// The points of a quadrature rule, with equal weights.
  quadrature,
  /// Overlaps of tetrahedra instead of points.
  exact,
  /// Exact at the edge of the water, few random points elsewhere.
  adaptive,
};

struct SampleOptions {
  WaterSampling kind = WaterSampling::random;
  /// Points per tetrahedron, up to `most_samples`.
  Index count = 10;
  std::uint64_t seed = 0;
  /// Number of the step, for random points.
  std::uint32_t step = 0;
};

inline constexpr Index most_samples = 512;

/// Fills the first `count` of `out` for a tetrahedron. `stream` tells uses within a step apart.
inline std::span<const mesh::TetWeights> sample_points(const SampleOptions& options, std::int32_t tet, std::uint64_t stream,
                                                       std::array<mesh::TetWeights, most_samples>& out) {
  const Index n = options.count;
  if (options.kind == WaterSampling::fixed) return mesh::fixed_samples(options.count);
  if (options.kind == WaterSampling::quadrature) return mesh::quadrature_samples(options.count);
  const auto kind = options.kind == WaterSampling::independent ? mesh::TetSampling::independent : mesh::TetSampling::stratified;
  const std::span<mesh::TetWeights> used(out.data(), n);
  mesh::random_samples(kind, options.seed + (stream << 62), static_cast<std::uint64_t>(tet), options.step, used);
  return used;
}

}  // namespace meniscus::fluids
