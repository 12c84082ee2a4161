/// Signed distance of a solid at the nodes of a mesh in motion: exact near the surface, and only there evaluated at every node.
///
/// Nodes form groups along a Morton curve. A signed distance changes by no more than the way from point to point, so the value in
/// the middle of a group tells of parts of it that no node is within the band, and on which side all of them are. For other
/// functions, `slope` is the greatest change per metre; infinity evaluates every node.
#pragma once

#include "meniscus/surface/tetrahedra/signed_distance.hpp"

#include <vector>

namespace meniscus::surface {

class NodeDistances {
 public:
  /// Groups nodes by their positions. Later positions may be others: groups that are no longer compact only cost time, and
  /// results do not depend on them.
  explicit NodeDistances(std::span<const mesh::Point> positions);

  Index size() const { return static_cast<Index>(order_.size()); }

  /// phi = distance at each position, clamped to [-band, band], m.
  void sample(std::span<const mesh::Point> positions, const SignedDistance& distance, double slope, double band,
              std::span<double> phi);

 private:
  void evaluate(const SignedDistance& distance);

  std::vector<std::int32_t> order_;
  // Scratch memory, kept from call to call: groups to look at, their middles and values.
  std::vector<Index> groups_, closer_;
  std::vector<mesh::Point> points_;
  std::vector<double> values_;
};

}  // namespace meniscus::surface
