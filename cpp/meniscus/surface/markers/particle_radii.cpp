#include "meniscus/surface/markers/particle_radii.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <cmath>

namespace meniscus::surface {

void check(const RadiusBounds& bounds) {
  require(bounds.smallest > 0.0 && bounds.smallest <= bounds.largest && std::isfinite(bounds.largest),
          "the bounds of the radii must be positive and ascending, got ", bounds.smallest, " and ", bounds.largest);
}

namespace {

/// The sample of the domain of which a sample beyond a periodic side is an image, counted from the first of the block; others
/// stay. Markers at the seam find the same strain on either side of it, however positions are rounded.
template <class T, int D>
Coord<D> original(const grid::Field<T, D>& phi, Coord<D> c) {
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    const Index first = phi.grid().first_cell()[a];
    const Index image = grid::image_of_sample(phi.grid(), phi.stagger(), d, first + c[a]);
    if (image >= 0) c[a] = image - first;
  }
  return c;
}

/// Sets a padded block to the strain along the normal of phi, n . grad(u) n in 1/s, at the samples within `width` cells of the
/// surface and one layer of ghosts, and to zero elsewhere. There are fewer samples than particles. Ghosts of phi must be filled.
template <class T, int D>
void find_strains(grid::Field<T, D>& phi, grid::MacField<T, D>& velocity, double width, double time, T* block,
                  Workspace& workspace) {
  const grid::FieldLayout<D>& layout = phi.layout();
  const grid::FieldView<const T, D> view = std::as_const(phi).view();
  const double h = phi.grid().spacing();
  constexpr Index margin = 1;
  const auto near = list_near_samples<T, D>(view, margin, static_cast<T>(width * h), workspace);
  Coord<D> extents = layout.extents();
  for (Index& n : extents) n += 2 * margin;
  const auto sample = [strides = c_strides<D>(extents)](Index i) {
    Coord<D> c = index_of<D>(i, strides);
    for (Index& k : c) k -= margin;
    return c;
  };
  // Two points on the normal of each, half a cell to either side.
  const auto points = workspace.take<T>(2 * near.size * D);
  const auto speeds = workspace.take<T>(2 * near.size * D);
  parallel_for(0, near.size, 1024, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      const Coord<D> c = sample(near.index[k]);
      const T* const value = view.at(c);
      Vec<double, D> gradient;
      for (int d = 0; d < D; ++d) {
        const Index along = view.strides[d];
        gradient[d] = static_cast<double>(value[along]) - static_cast<double>(value[-along]);
      }
      const double slope = gradient.norm();
      const Vec<double, D> x = grid::sample_position<D>(phi.grid(), phi.stagger(), original<T, D>(phi, c));
      for (int d = 0; d < D; ++d) {
        const double half = slope > 0.0 ? 0.5 * h * gradient[d] / slope : 0.0;
        points.data()[2 * k * D + d] = static_cast<T>(x[d] - half);
        points.data()[(2 * k + 1) * D + d] = static_cast<T>(x[d] + half);
      }
    }
  });
  grid::sample_points(velocity, points.data(), 2 * near.size, time, speeds.data());
  std::fill_n(block, layout.storage_size(), T(0));
  T* const strain = layout.view(block).origin;
  parallel_for(0, near.size, 4096, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      double square = 0.0;  // strain times h^2
      for (int d = 0; d < D; ++d) {
        const Index a = 2 * k * D + d;
        const Index b = a + D;
        square += (static_cast<double>(points.data()[b]) - static_cast<double>(points.data()[a])) *
                  (static_cast<double>(speeds.data()[b]) - static_cast<double>(speeds.data()[a]));
      }
      strain[dot<D>(sample(near.index[k]), view.strides)] = static_cast<T>(square / (h * h));
    }
  });
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
  const NoInterrupts commit;
  set_radii<T, D>(values.data(), particles, phi.grid().spacing(), bounds, which);
}

template <class T, int D>
void set_radii(const T* values, grid::ParticleSet& particles, double spacing, const RadiusBounds& bounds, RadiusOf which) {
  const MarkerColumns<T, D> markers(particles);
  const auto least = static_cast<T>(bounds.smallest * spacing);
  const auto most = static_cast<T>(bounds.largest * spacing);
  parallel_for(0, particles.size(), 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const T own = static_cast<T>(markers.sign[i]) * values[i];
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
  const auto rate_block = workspace.take<T>(phi.layout().storage_size());
  find_strains(phi, velocity, 2.0 * bounds.largest + 2.0, time, rate_block.data(), workspace);
  const auto points = workspace.take<T>(near.size * D);
  const auto rates = workspace.take<T>(near.size);
  parallel_for(0, near.size, 8192, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) std::copy_n(markers.position + near.index[k] * D, D, points.data() + k * D);
  });
  grid::sample_points(phi.layout(), rate_block.data(), points.data(), near.size, grid::Interpolation::linear, time, rates.data());
  const NoInterrupts commit;
  const auto least = static_cast<T>(bounds.smallest * h);
  const bool first = half_step == StretchedHalf::first;
  const T largest = first ? 2 * most : most;
  parallel_for(0, near.size, 4096, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      const Index i = near.index[k];
      // Of those farther away than the largest radius, the level set says how far they are while it is a distance.
      const T own = static_cast<T>(markers.sign[i]) * values.data()[i];
      const T before = first && own >= most ? own : markers.radius[i];
      markers.radius[i] = std::clamp(before * std::exp(static_cast<T>(dt) * rates.data()[k]), least, largest);
    }
  });
  if (first) return;
  parallel_for(0, n, 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) markers.radius[i] = std::min(markers.radius[i], most);
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                              \
  template void adjust_radii<T, D>(grid::Field<T, D>&, grid::ParticleSet&, const RadiusBounds&, RadiusOf, double, Workspace&);  \
  template void set_radii<T, D>(const T*, grid::ParticleSet&, double, const RadiusBounds&, RadiusOf);                           \
  template void stretch_radii<T, D>(grid::Field<T, D>&, grid::ParticleSet&, grid::MacField<T, D>&, double, const RadiusBounds&, \
                                    StretchedHalf, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
