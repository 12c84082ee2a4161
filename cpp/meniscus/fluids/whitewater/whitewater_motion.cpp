#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/whitewater/whitewater_columns.hpp"
#include "meniscus/grid/particles/field_probe.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace meniscus::fluids {
namespace {

/// Cells from a wall within which spray does not move towards it any further.
constexpr double at_wall = 2e-3;

/// Takes from the velocity of a particle on a side of the domain, beyond which there are no cells, what would take it out.
template <int D>
void stop_at_sides(const grid::Grid<D>& grid, const Vec<double, D>& x, Vec<double, D>& v) {
  for (int d = 0; d < D; ++d) {
    if (grid.block().image(d, -1).has_value()) continue;
    const double low = grid.origin()[d], high = low + grid.spacing() * static_cast<double>(grid.shape()[d]);
    const double gap = at_wall * grid.spacing();
    if (x[d] < low + gap) v[d] = std::max(v[d], 0.0);
    if (x[d] > high - gap) v[d] = std::min(v[d], 0.0);
  }
}

/// Mean of a velocity that approaches another one, and the one at the end: v' = (target - v) k.
template <int D>
struct Relaxed {
  Vec<double, D> mean, end;
  Relaxed(const Vec<double, D>& v, const Vec<double, D>& target, double k, double dt) {
    const double x = k * dt, left = std::exp(-x), part = x > 1e-8 ? -std::expm1(-x) / x : 1.0 - 0.5 * x;
    mean = target + part * (v - target);
    end = target + left * (v - target);
  }
};

}  // namespace

template <class T, int D>
Index move_whitewater(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, grid::Field<T, D>& phi,
                      grid::Field<double, D>* solid, const Vec<double, D>& gravity, const WhitewaterMotion& motion, double dt,
                      double time, Workspace& workspace) {
  const WhitewaterColumns<T, D> s(particles);
  const grid::Grid<D>& grid = velocity.grid();
  require(phi.grid() == grid, "the level set must have the grid of the velocity");
  const Index n = particles.size();
  const double h = grid.spacing();
  phi.fill_ghosts(time);
  std::optional<grid::FieldProbe<double, D>> wall;
  if (solid) wall.emplace(*solid);
  const grid::FieldProbe<T, D> distance(phi);
  // What the liquid carries: foam and bubbles.
  const auto levels = workspace.take<T>(n);
  grid::sample_points(phi, s.position, n, grid::Interpolation::linear, time, levels.data());
  const auto in_air = [&](Index i) { return static_cast<double>(levels.data()[i]) > motion.layer; };
  const auto wet = surface::list_indices(
      n,
      [&](Index begin, Index end, auto&& take) {
        for (Index i = begin; i < end; ++i)
          if (!in_air(i)) take(i);
      },
      workspace);
  const auto carried = workspace.take<T>(wet.size * D);
  const auto flow = workspace.take<T>(wet.size * D);
  parallel_for(0, wet.size, 4096, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) std::copy_n(s.position + wet.index[k] * D, D, carried.data() + k * D);
  });
  grid::sample_points(velocity, carried.data(), wet.size, time, flow.data());
  grid::advance_points(velocity, carried.data(), wet.size, dt, grid::Trace::midpoint, grid::OutsidePoints::keep, time, workspace);
  const auto flags = workspace.take<std::uint8_t>(n);
  const double strength = gravity.norm();
  const Vec<double, D> up = strength > 0.0 ? Vec<double, D>(-gravity / strength) : Vec<double, D>(Vec<double, D>::Zero());
  const Vec<double, D> zero = Vec<double, D>::Zero();
  const double rate = 1.0 / motion.response;
  const NoInterrupts commit;
  const auto put = [&](Index i, const Vec<double, D>& x, const Vec<double, D>& v) {
    for (int d = 0; d < D; ++d) {
      s.position[i * D + d] = static_cast<T>(x[d]);
      s.velocity[i * D + d] = static_cast<T>(v[d]);
    }
    flags.data()[i] = s.lifetime[i] <= T(0);
  };
  const auto place = [&](Index i) {
    return Vec<double, D>(Eigen::Map<const Vec<T, D>>(s.position + i * D).template cast<double>());
  };
  const auto speed = [&](Index i) {
    return Vec<double, D>(Eigen::Map<const Vec<T, D>>(s.velocity + i * D).template cast<double>());
  };
  parallel_for(0, n, 1024, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      if (!in_air(i)) continue;
      const Vec<double, D> x = place(i);
      Vec<double, D> v = speed(i);
      if (wall) {
        const grid::ProbedValue<D> near = (*wall)(x);
        const double slope = near.gradient.norm();
        if (near.value < at_wall * h && slope > 0.0) v -= std::min(0.0, v.dot(near.gradient) / slope) / slope * near.gradient;
      }
      stop_at_sides<D>(grid, x, v);
      if (motion.air_drag > 0.0) {
        const Relaxed<D> fall(v, gravity / motion.air_drag, motion.air_drag, dt);
        put(i, x + dt * fall.mean, fall.end);
      } else {
        put(i, x + dt * (v + 0.5 * dt * gravity), v + dt * gravity);
      }
    }
  });
  parallel_for(0, wet.size, 1024, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      const Index i = wet.index[k];
      const Vec<double, D> u = Eigen::Map<const Vec<T, D>>(flow.data() + k * D).template cast<double>();
      const bool bubble = static_cast<double>(levels.data()[i]) < -motion.layer;
      // Beside the liquid, which carries it: what is left of its own velocity, and the rise.
      const Relaxed<D> own(speed(i) - u, bubble ? Vec<double, D>(motion.rise * up) : zero, rate, dt);
      Vec<double, D> after = Eigen::Map<const Vec<T, D>>(carried.data() + k * D).template cast<double>() + dt * own.mean;
      if (!bubble) {
        // Foam lies on the surface; what is off it comes back no faster than bubbles rise.
        const grid::ProbedValue<D> level = distance(place(i));
        if (const double slope = level.gradient.norm(); slope > 0.0)
          after -= std::clamp(level.value / slope, -motion.rise * dt, motion.rise * dt) / slope * level.gradient;
        s.lifetime[i] -= static_cast<T>(dt);
      }
      put(i, after, u + own.end);
    }
  });
  const Index before = particles.size();
  particles.remove(flags.data(), workspace);
  return before - particles.size();
}

template <class T, int D>
void sort_whitewater(grid::ParticleSet& particles, grid::Field<T, D>& phi, double layer, double time, Workspace& workspace) {
  const WhitewaterColumns<T, D> s(particles);
  const Index n = particles.size();
  const auto level = workspace.take<T>(n);
  grid::sample_points(phi, s.position, n, grid::Interpolation::linear, time, level.data());
  parallel_for(0, n, 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) s.kind[i] = kind_at(static_cast<double>(level.data()[i]), layer);
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                             \
  template Index move_whitewater<T, D>(grid::ParticleSet&, grid::MacField<T, D>&, grid::Field<T, D>&, grid::Field<double, D>*, \
                                       const Vec<double, D>&, const WhitewaterMotion&, double, double, Workspace&);            \
  template void sort_whitewater<T, D>(grid::ParticleSet&, grid::Field<T, D>&, double, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
