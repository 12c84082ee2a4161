/// Fluxes through walls on interior faces and through open sides, in place of those of the Riemann problem.
#pragma once

#include "meniscus/fluids/shallow/flux_rows.hpp"
#include "meniscus/fluids/shallow/shallow_model.hpp"

namespace meniscus::fluids {

/// Lets slopes vanish in cells beside walls: `low` and `high` are the walls on their faces.
template <class T>
MENISCUS_NOINLINE void level_beside_walls(Index n, const std::uint8_t* low, const std::uint8_t* high, const FluxCells<T>& cells,
                                          FaceWater<T>& below, FaceWater<T>& above, T* rise) {
  for (Index j = 0; j < n; ++j) {
    if (!low[j] && !high[j]) continue;
    below.depth[j] = above.depth[j] = cells.depth[j];
    below.surface[j] = above.surface[j] = cells.depth[j] + cells.ground[j];
    below.normal[j] = above.normal[j] = cells.normal[j];
    below.along[j] = above.along[j] = cells.along[j];
    rise[j] = T(0);
  }
}

/// Pressure of water that a wall stops, beyond that of its depth: the flux between it and its mirror image.
template <class T>
T stopped(T depth, T speed, T gravity) {
  return depth * speed * (speed + std::abs(speed) + std::sqrt(gravity * depth));
}

template <class T>
MENISCUS_NOINLINE void stop_at_walls(Index n, const std::uint8_t* walls, const FaceWater<T>& below, const FaceWater<T>& above,
                                     Index offset, T gravity, FaceFlux<T>& flux) {
  for (Index j = 0; j < n; ++j) {
    if (!walls[j]) continue;
    flux.mass[j] = flux.along[j] = T(0);
    flux.below[j] = stopped(below.depth[j], below.normal[j], gravity);
    flux.above[j] = stopped(above.depth[j + offset], -above.normal[j + offset], gravity);
  }
}

/// Replaces the flux through face j, that of cell k of a side, by the one of the state on the side. `end` is 1 where the domain
/// lies below the face, else -1.
template <class T>
MENISCUS_NOINLINE void flow_through_side(const ShallowSide& side, Index k, int end, const FaceWater<T>& inside, Index place,
                                         double gravity, Index j, FaceFlux<T>& flux) {
  const double h = inside.depth[place], ground = inside.surface[place] - h;
  const SideState in{h, end * static_cast<double>(inside.normal[place]), static_cast<double>(inside.along[place])};
  const SideState at = state_on_side(side, k, in, ground, gravity);
  const double push = 0.5 * gravity * (at.depth - h) * (at.depth + h);
  const double mass = end * at.depth * at.outward;
  flux.mass[j] = static_cast<T>(mass);
  flux.below[j] = flux.above[j] = static_cast<T>(at.depth * at.outward * at.outward + push);
  flux.along[j] = static_cast<T>(mass * (at.outward > 0 ? in.along : at.along));
}

}  // namespace meniscus::fluids
