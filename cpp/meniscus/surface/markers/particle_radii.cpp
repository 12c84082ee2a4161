#include "meniscus/surface/markers/particle_radii.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/field_probe.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

void check(const RadiusBounds& bounds) {
  require(bounds.smallest > 0.0 && bounds.smallest <= bounds.largest && std::isfinite(bounds.largest),
          "the bounds of the radii must be positive and ascending, got ", bounds.smallest, " and ", bounds.largest);
}

}  // namespace

template <class T, int D>
void adjust_radii(grid::Field<T, D>& phi, grid::ParticleSet& particles, const RadiusBounds& bounds, RadiusOf which, double time,
                  Workspace& workspace) {
  check(bounds);
  const MarkerColumns<T, D> markers(particles);
  const Index n = particles.size();
  const auto values = workspace.take<T>(n);
  grid::sample_points(phi, markers.position, n, grid::Interpolation::linear, time, values.data());
  const double h = phi.grid().spacing();
  const auto least = static_cast<T>(bounds.smallest * h);
  const auto most = static_cast<T>(bounds.largest * h);
  const NoInterrupts commit;
  parallel_for(0, n, 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const T own = static_cast<T>(markers.sign[i]) * values.data()[i];
      const bool stays = (which == RadiusOf::far && own < most) || (which == RadiusOf::inside && own < T(0));
      markers.radius[i] = std::clamp(stays ? markers.radius[i] : own, least, most);
    }
  });
}

template <class T, int D>
void stretch_radii(grid::Field<T, D>& phi, grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt,
                   const RadiusBounds& bounds, StretchedHalf half_step, double time, Workspace& workspace) {
  check(bounds);
  require(std::isfinite(dt), "dt must be finite, got ", dt);
  require(phi.grid() == velocity.grid(), "the level set and the velocity must have the same grid");
  const MarkerColumns<T, D> markers(particles);
  const Index n = particles.size();
  const auto values = workspace.take<T>(n);
  grid::sample_points(phi, markers.position, n, grid::Interpolation::linear, time, values.data());
  const double h = phi.grid().spacing();
  const auto most = static_cast<T>(bounds.largest * h);
  // Whoever is within the largest radius at the end of the step has been within twice of it before.
  const auto near = list_indices(
      n,
      [&](Index begin, Index end, auto&& take) {
        for (Index i = begin; i < end; ++i)
          if (static_cast<T>(markers.sign[i]) * values.data()[i] < 2 * most) take(i);
      },
      workspace);
  // Two points on the normal of each, half a cell to either side.
  const auto points = workspace.take<T>(2 * near.size * D);
  const auto speeds = workspace.take<T>(2 * near.size * D);
  const grid::FieldProbe<T, D> probe(phi);
  parallel_for(0, near.size, 1024, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      const T* x = markers.position + near.index[k] * D;
      const Vec<double, D> gradient = probe(Eigen::Map<const Vec<T, D>>(x).template cast<double>()).gradient;
      const double slope = gradient.norm();
      for (int d = 0; d < D; ++d) {
        const double half = slope > 0.0 ? 0.5 * h * gradient[d] / slope : 0.0;
        points.data()[2 * k * D + d] = static_cast<T>(static_cast<double>(x[d]) - half);
        points.data()[(2 * k + 1) * D + d] = static_cast<T>(static_cast<double>(x[d]) + half);
      }
    }
  });
  grid::sample_points(velocity, points.data(), 2 * near.size, time, speeds.data());
  const NoInterrupts commit;
  const double least = bounds.smallest * h;
  const bool first = half_step == StretchedHalf::first;
  const double largest = (first ? 2.0 : 1.0) * bounds.largest * h;
  parallel_for(0, near.size, 4096, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      double strain = 0.0;  // times h^2
      for (int d = 0; d < D; ++d) {
        const Index a = 2 * k * D + d;
        const Index b = a + D;
        strain += (static_cast<double>(points.data()[b]) - static_cast<double>(points.data()[a])) *
                  (static_cast<double>(speeds.data()[b]) - static_cast<double>(speeds.data()[a]));
      }
      const Index i = near.index[k];
      // Of those farther away than the largest radius, the level set says how far they are while it is a distance.
      const T own = static_cast<T>(markers.sign[i]) * values.data()[i];
      const auto before = static_cast<double>(first && own >= most ? own : markers.radius[i]);
      markers.radius[i] = static_cast<T>(std::clamp(before * std::exp(dt * strain / (h * h)), least, largest));
    }
  });
  if (first) return;
  parallel_for(0, n, 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) markers.radius[i] = std::min(markers.radius[i], most);
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                              \
  template void adjust_radii<T, D>(grid::Field<T, D>&, grid::ParticleSet&, const RadiusBounds&, RadiusOf, double, Workspace&);  \
  template void stretch_radii<T, D>(grid::Field<T, D>&, grid::ParticleSet&, grid::MacField<T, D>&, double, const RadiusBounds&, \
                                    StretchedHalf, double, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
