/// Water does not come closer to the solid than the solid lets it: where water at the surface, or in a full column of water that
/// ends there, approaches faster than the surface moves, its velocity along the normal becomes that of the surface.
///
/// A column ends, as in the source, where a tetrahedron has no neighbour of a lower rank across a face; this is so for many,
/// since ranks count across corners. With `whole`, these inherit from neighbours of their own rank: water at rest then stays at
/// rest, but jets stop as a whole.
///
/// Source: Lee 2018, section 3.3.3.
#pragma once

#include "meniscus/core/memory/sorted_numbers.hpp"
#include "meniscus/fluids/tet_vof/conservation/overflow.hpp"

namespace meniscus::fluids {

class VelocityCorrection {
 public:
  explicit VelocityCorrection(const TetGraph& graph) : graph_(graph), seen_(graph.size(), 0) {}

  /// One sweep from rank 0 outward. `normals` point away from the solid, `solid` holds its velocities, m/s. Returns the change of
  /// the water's momentum over its density, m^4/s.
  mesh::Point correct(const TetWater& water, const WaterRoom& room, std::span<const mesh::Point> normals,
                      std::span<const mesh::Point> solid, std::int32_t highest, bool whole, const Quantum& quantum);

  std::size_t nbytes() const;

 private:
  const TetGraph& graph_;
  /// Whether a tetrahedron is or was in the queue; 0 between calls.
  std::vector<std::uint8_t> seen_;
  std::vector<std::vector<std::int32_t>> queue_;
  std::vector<std::vector<std::int32_t>> pieces_;
  std::vector<mesh::Point> impulse_;
  NumberSort sort_;
};

}  // namespace meniscus::fluids
