/// The water of a tetrahedral mesh: a volume and a velocity per tetrahedron.
///
/// Source: Lee 2018, section 3.3.
#pragma once

#include "meniscus/fluids/tet_vof/amounts.hpp"
#include "meniscus/mesh/tet_mesh.hpp"

#include <span>

namespace meniscus::fluids {

/// Views of the volumes, m^3, multiples of a quantum, and of the velocities, m/s. Where there is no water, the velocity is 0.
struct TetWater {
  std::span<double> volume;
  std::span<mesh::Point> velocity;

  /// Mixes water into a tetrahedron; momentum is conserved.
  void add(std::int32_t t, double v, const mesh::Point& u) const {
    const Index i = t;
    mix(i, v, v * u);
  }

  /// The same for a sum of amounts and of their momenta (over density).
  void mix(std::size_t i, double v, const mesh::Point& momentum) const {
    if (v == 0) return;
    const double before = volume[i];
    volume[i] = before + v;
    velocity[i] = before == 0 ? mesh::Point(momentum / v) : mesh::Point((before * velocity[i] + momentum) / (before + v));
  }
};

}  // namespace meniscus::fluids
