/// Viscosity problem: viscosity, solid and liquid of a fluid whose velocity diffuses.
///
/// Sources: Mueller et al. 2008, section 10.1; Batty and Bridson 2008, sections 3 and 4.
#pragma once

#include "meniscus/fluids/pressure/bodies/moving_bodies.hpp"
#include "meniscus/grid/solid_boundary.hpp"

namespace meniscus::fluids {

/// Fields are referenced and on the grid of the velocity; the solvers fill the ghosts of those on cells. Null pointers: the
/// number alone, no solid, liquid everywhere.
template <class T, int D>
struct ViscosityProblem {
  /// Kinematic, m^2/s: the number, or where given the field on cells.
  double viscosity = 0.0;
  grid::Field<T, D>* viscosity_field = nullptr;
  /// Without free slip the fluid has its velocity.
  grid::SolidBoundary<T, D>* solid = nullptr;
  /// On cells, liquid where <= 0.
  grid::Field<T, D>* liquid = nullptr;
  /// Kinematic viscosity, m^2/s, and density of the air, that of the liquid being 1. Zero density: air exerts no stress. Needs
  /// `liquid` and a viscosity that is a number.
  double air_viscosity = 0.0, air_density = 0.0;
  double time = 0.0;
  /// Of the fluid, kg/m^3.
  double density = 1.0;
  /// On cells, Pa: the pressure that the next projection is expected to find. Viscosity acts on the velocity that it leaves, and
  /// what that differs by is taken back afterwards. Null: none is known.
  grid::Field<double, D>* pressure = nullptr;
  /// Bodies within a `solid` without slip that stresses move, and the faces that belong to each, as in a `PressureProblem`. Null:
  /// the motion of all solids is given.
  MovingBodies* bodies = nullptr;
  std::array<const std::int32_t*, D> owners{};
};

}  // namespace meniscus::fluids
