/// Step of a particle level set: its parts in their order (Enright, Fedkiw, Ferziger and Mitchell, "A hybrid particle level set
/// method for improved interface capturing", 2002, section 3; Selle 2008, section 4.4.3).
#pragma once

#include "meniscus/grid/transport/advect.hpp"
#include "meniscus/surface/markers/escaped_markers.hpp"
#include "meniscus/surface/markers/particle_advance.hpp"
#include "meniscus/surface/markers/particle_correction.hpp"

namespace meniscus::surface {

/// Particles of one level set.
struct LevelSetParticles {
  grid::ParticleSet& markers;
  grid::ParticleSet& spray;
  grid::ParticleSet& bubbles;
};

/// Schemes that move a level set and its markers.
struct LevelSetTransport {
  const grid::AdvectionScheme* scheme = &grid::schemes::semi_lagrangian;
  grid::Trace trace = grid::Trace::midpoint;
  grid::Interpolation interpolation = grid::Interpolation::cubic;
  grid::Trace marker_trace = grid::Trace::midpoint;
  double band = 0.0;                      ///< m, half width of the band with markers
  std::optional<RadiusBounds> stretched;  ///< bounds of radii that follow the flow; none: they do not
};

struct AdvectedLevelSet {
  Index samples = 0;  ///< of the level set that were advected
  grid::FateCounts markers;
};

/// Advects the level set in reach of the band, the markers and the bubbles along a velocity for dt > 0 seconds; radii that follow
/// the flow are stretched by half a step before and half a step after. `time` is that at the start, `solid` (or nullptr) as of
/// the end. Throws InvalidArgument for values that are not finite, before anything has changed.
template <class T, int D>
AdvectedLevelSet advect_particle_level_set(grid::Field<T, D>& phi, const LevelSetParticles& particles,
                                           grid::MacField<T, D>& velocity, double dt, const LevelSetTransport& transport,
                                           grid::SolidBoundary<T, D>* solid, double time, Workspace& workspace);

/// Schemes and numbers of a step.
struct LevelSetStep {
  LevelSetTransport transport;
  double escape_distance = 0.0;  ///< as of correct_by_particles
  double reach = 0.0;            ///< m; the level set is made a distance as far as this and the motion of the next step
  EscapeRules escape;
  bool bubbles = false;  ///< whether escaped markers of the outside become bubbles
};

struct LevelSetStepInfo {
  AdvectedLevelSet advected;
  std::array<Correction, 2> corrections;  ///< before and after redistancing
  Removal removal;
};

/// Advects, corrects, redistances and corrects again, and removes markers that have escaped too far. `outside`: as of
/// SampleMasks, or nullptr.
template <class T, int D>
LevelSetStepInfo advance_particle_level_set(grid::Field<T, D>& phi, const LevelSetParticles& particles,
                                            grid::MacField<T, D>& velocity, double dt, const LevelSetStep& step,
                                            grid::SolidBoundary<T, D>* solid, const std::uint8_t* outside, double time,
                                            Workspace& workspace);

}  // namespace meniscus::surface
