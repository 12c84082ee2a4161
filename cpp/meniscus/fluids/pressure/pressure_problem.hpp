/// Pressure problem: solids, liquid, sources and pressures of a projection that makes a velocity divergence-free.
///
/// Source: Selle 2008, sections 2.9, 3.2 and 4.4.2.
#pragma once

#include "meniscus/fluids/pressure/bodies/moving_bodies.hpp"
#include "meniscus/grid/solid_boundary.hpp"

namespace meniscus::fluids {

/// Fields are referenced and on the grid of the velocity. Null pointers: no solid, liquid everywhere, no sources, no pressure
/// wanted. Ghosts of the solid's velocity are filled.
template <class T, int D>
struct PressureProblem {
  double density = 1.0;
  /// On cells, kg/m^3; instead of the constant.
  const grid::Field<T, D>* density_field = nullptr;
  grid::SolidBoundary<T, D>* solid = nullptr;
  /// m/s^2, of forces in this step that pressure balances at walls: part of the velocity, and none of the flow along a solid with
  /// free slip through the outlets that it closes.
  Vec<double, D> acceleration = Vec<double, D>::Zero();
  /// On cells; liquid where < 0, air elsewhere (see free_surface.hpp for values next to 0). The other: one byte per owned cell in
  /// C order, nonzero where liquid.
  const grid::Field<T, D>* liquid = nullptr;
  const std::uint8_t* liquid_mask = nullptr;
  double air_pressure = 0.0;
  /// One byte per owned cell in C order, nonzero in air whose pressure is solved for: it keeps its volume. Null: none. Needs
  /// `liquid`.
  const std::uint8_t* solved_air = nullptr;
  double air_density = 1.2;  ///< kg/m^3, of solved air
  /// On cells, Pa: excess of the pressure of the liquid over that of the air at the surface (surface tension times curvature). It
  /// is interpolated to the surface between a liquid cell and an air cell; no other values are read.
  const grid::Field<T, D>* surface_pressure = nullptr;
  /// Per axis, one byte per owned face in C order, nonzero where the velocity is given and does not change, as on a wall. Null:
  /// given only on solids and sides.
  std::array<const std::uint8_t*, D> given_faces{};
  /// On cells, 1/s, per volume of fluid.
  const grid::Field<T, D>* target_divergence = nullptr;
  /// On cells, Pa: the start of the iteration where `warm_start`, and the result; zero in cells without fluid.
  grid::Field<double, D>* pressure = nullptr;
  bool warm_start = false;
  double time = 0.0;
  /// Bodies within `solid` that the pressure moves, and per axis and owned face in C order the number of the body to which it
  /// belongs near bodies; -1 elsewhere, and where another solid is nearer; on sides of the domain -2 minus the number. Null: the
  /// motion of all solids is given.
  MovingBodies* bodies = nullptr;
  std::array<const std::int32_t*, D> owners{};
  /// One byte per face, nonzero along gaps between solids that are narrower than a cell: pressure passes through films there.
  std::array<const std::uint8_t*, D> films{};
};

}  // namespace meniscus::fluids
