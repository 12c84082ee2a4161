/// Ballistic flight of spray: parabolas, drag, and contact with solids and with the sides of the domain.
#pragma once

#include "meniscus/grid/particles/domain_sides.hpp"
#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/grid/solid_boundary.hpp"

namespace meniscus::surface {

template <int D>
struct FlightOptions {
  Vec<double, D> gravity = Vec<double, D>::Zero();  ///< m/s^2
  double drag = 0.0;                                ///< 1/s: dv/dt = gravity - drag v, solved exactly
  double restitution = 0.0;                         ///< what remains of the normal velocity, reversed: 0 stops it, 1 reflects it
  grid::OpenSides<D> open{};  ///< sides (2 * axis + upper) through which particles leave; the others stop them
};

struct SprayFlight {
  Index left = 0;            ///< removed: left through an open side
  double left_volume = 0.0;  ///< of their balls, m^3 (m^2 in two dimensions)
  Index in_solid = 0;        ///< removed: so deep in the solid that there is no way out
  double in_solid_volume = 0.0;
  Index hits = 0;  ///< particles that touched the solid or a side
};

/// Moves particles (columns 'velocity' and 'radius') for dt seconds. Their path is followed in straight pieces, each from contact
/// to contact, in steps bounded by the distance to the solid, so that nothing is missed however fast they are; at a contact the
/// velocity across the surface, relative to it, stops (or is reflected) and the rest of the step slides along it without
/// friction. Particles that the solid has moved over are pushed out of it. `solid` may be null. Nothing is changed if anything is
/// thrown. Collective: particles end in the block in which they lie, however far they have flown, and the report is that of all.
template <class T, int D>
SprayFlight advance_spray(const grid::Grid<D>& grid, grid::ParticleSet& particles, double dt, const FlightOptions<D>& options,
                          grid::SolidBoundary<T, D>* solid, double time, Workspace& workspace);

}  // namespace meniscus::surface
