/// Water does not come closer to the solid than the solid lets it: where water at the surface, or in a full column of water that
/// ends there, approaches faster than the surface moves, its velocity along the normal becomes that of the surface.
///
/// Source: Lee 2018, section 3.3.3. There a tetrahedron inherits across faces from lower ranks alone, though ranks count across
/// corners: those without a lower rank beside them would fall for ever. Here they inherit from their own rank.
#pragma once

#include "meniscus/fluids/tet_vof/conservation/overflow.hpp"

namespace meniscus::fluids {

class VelocityCorrection {
 public:
  explicit VelocityCorrection(const TetGraph& graph) : graph_(graph), seen_(static_cast<std::size_t>(graph.size()), 0) {}

  /// One sweep from rank 0 outward. `normals` point away from the solid, `solid` holds its velocities, m/s. Returns the change of
  /// the water's momentum over its density, m^4/s.
  mesh::Point correct(const TetWater& water, const WaterRoom& room, std::span<const mesh::Point> normals,
                      std::span<const mesh::Point> solid, std::int32_t highest, const Quantum& quantum);

  std::size_t nbytes() const;

 private:
  const TetGraph& graph_;
  /// Whether a tetrahedron is or was in the queue; 0 between calls.
  std::vector<std::uint8_t> seen_;
  std::vector<std::vector<std::int32_t>> queue_;
  std::vector<std::vector<std::int32_t>> pieces_;
  std::vector<mesh::Point> impulse_;
};

}  // namespace meniscus::fluids
