/// Names of the integrators of deformable bodies.
#pragma once

#include <cstdint>

namespace meniscus::solids {

enum class Integrator : std::int8_t {
  explicit_euler,
  symplectic_euler,
  rk2,
  rk4,
  verlet,
  velocity_verlet,
  newmark,
  implicit_euler,
};

}  // namespace meniscus::solids
