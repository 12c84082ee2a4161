#include "meniscus/surface/markers/particle_levelset_step.hpp"

#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/masked_samples.hpp"
#include "meniscus/surface/redistancing/redistance.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

/// Advects the samples with |phi| < width; returns how many.
template <class T, int D>
Index advect_samples(grid::Field<T, D>& phi, grid::MacField<T, D>& velocity, double dt, double width,
                     const LevelSetTransport& transport, double time, Workspace& workspace) {
  if (transport.scheme == &grid::schemes::semi_lagrangian)
    return advect_band(phi, velocity, dt, width, transport.trace, transport.interpolation, time, workspace);
  const auto active = workspace.take<std::uint8_t>(product<D>(phi.extents()));
  const Index samples = grid::mark_band(phi, width, active.data());
  grid::AdvectOptions options;
  options.scheme = transport.scheme;
  options.pass.trace = transport.trace;
  options.pass.interpolation = transport.interpolation;
  options.time = time;
  grid::advect<T, D>(phi, velocity, dt, options, {.active = active.data()}, workspace);
  return samples;
}

}  // namespace

template <class T, int D>
AdvectedLevelSet advect_particle_level_set(grid::Field<T, D>& phi, const LevelSetParticles& particles,
                                           grid::MacField<T, D>& velocity, double dt, const LevelSetTransport& transport,
                                           grid::SolidBoundary<T, D>* solid, double time, Workspace& workspace) {
  const double spacing = phi.grid().spacing();
  const double speed = grid::max_component_speed(velocity);
  if (!std::isfinite(speed)) grid::require_finite(velocity);
  grid::require_finite(phi, "the level set");
  // No sample beyond this can come within the band, since none moves farther than the fastest flow in each axis.
  const double width = transport.band + std::sqrt(static_cast<double>(D)) * speed * dt + spacing;
  const auto stretch = [&](StretchedHalf half) {
    if (transport.stretched)
      stretch_radii(phi, particles.markers, velocity, 0.5 * dt, *transport.stretched, half, time, workspace);
  };
  AdvectedLevelSet result;
  stretch(StretchedHalf::first);
  result.samples = advect_samples(phi, velocity, dt, width, transport, time, workspace);
  const double pushed = transport.stretched ? transport.stretched->smallest * spacing : 0.0;
  result.markers = advance_markers(particles.markers, velocity, dt, transport.marker_trace, solid, pushed, time, workspace);
  advance_markers(particles.bubbles, velocity, dt, transport.marker_trace, solid, 0.0, time, workspace);
  stretch(StretchedHalf::second);
  return result;
}

template <class T, int D>
LevelSetStepInfo advance_particle_level_set(grid::Field<T, D>& phi, const LevelSetParticles& particles,
                                            grid::MacField<T, D>& velocity, double dt, const LevelSetStep& step,
                                            grid::SolidBoundary<T, D>* solid, const std::uint8_t* outside, double time,
                                            Workspace& workspace) {
  const double end = time + dt;
  LevelSetStepInfo info;
  info.advected = advect_particle_level_set(phi, particles, velocity, dt, step.transport, solid, time, workspace);
  info.corrections[0] = correct_by_particles(phi, particles.markers, step.escape_distance, end, workspace);
  RedistanceOptions options;
  options.band = step.reach + dt * grid::max_component_speed(velocity);
  options.at_sides = AtSides::goes_on;
  redistance<T, D>(phi, options, {.outside = outside}, workspace);
  info.corrections[1] = correct_by_particles(phi, particles.markers, step.escape_distance, end, workspace);
  grid::ParticleSet* const bubbles = step.bubbles ? &particles.bubbles : nullptr;
  info.removal = remove_escaped(phi, particles.markers, step.escape, velocity, &particles.spray, bubbles, end, workspace);
  return info;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                               \
  template AdvectedLevelSet advect_particle_level_set<T, D>(grid::Field<T, D>&, const LevelSetParticles&, grid::MacField<T, D>&, \
                                                            double, const LevelSetTransport&, grid::SolidBoundary<T, D>*,        \
                                                            double, Workspace&);                                                 \
  template LevelSetStepInfo advance_particle_level_set<T, D>(                                                                    \
      grid::Field<T, D>&, const LevelSetParticles&, grid::MacField<T, D>&, double, const LevelSetStep&,                          \
      grid::SolidBoundary<T, D>*, const std::uint8_t*, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
