#include "meniscus/surface/markers/particle_advance.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/particles/particle_boundary.hpp"
#include "meniscus/grid/particles/particle_migration.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/parallel/joint_reductions.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

namespace meniscus::surface {
template <class T, int D>
Index advect_band(grid::Field<T, D>& phi, grid::MacField<T, D>& velocity, double dt, double width, grid::Trace trace,
                  grid::Interpolation interpolation, double time, Workspace& workspace) {
  require(phi.grid() == velocity.grid(), "the level set and the velocity must have the same grid");
  require(std::isfinite(dt) && dt > 0, "dt must be positive and finite, got ", dt);
  require(width > 0, "width must be positive, got ", width);
  require_finite(phi, "the level set");
  const Coord<D> extents = phi.extents();
  const grid::FieldView<T, D> view = phi.view();
  const auto band = list_near_samples<T, D>(std::as_const(phi).view(), 0, static_cast<T>(width), workspace);
  const auto points = workspace.take<T>(band.size * D);
  const auto values = workspace.take<T>(band.size);
  const Coord<D> strides = c_strides<D>(extents);
  parallel_for(0, band.size, 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Vec<double, D> x = grid::sample_position<D>(phi.grid(), phi.stagger(), index_of<D>(band.index[i], strides));
      for (int d = 0; d < D; ++d) points.data()[i * D + d] = static_cast<T>(x[d]);
    }
  });
  grid::advance_points(velocity, points.data(), band.size, -dt, trace, grid::OutsidePoints::keep, time, workspace);
  grid::sample_points(phi, points.data(), band.size, interpolation, time, values.data());
  const NoInterrupts commit;
  parallel_for(0, band.size, 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) *view.at(index_of<D>(band.index[i], strides)) = values.data()[i];
  });
  if (!phi.grid().block().cut()) return band.size;
  // Samples on the side between two blocks count once.
  Index carried = 0;
  for (Index i = 0; i < band.size; ++i) {
    const Coord<D> c = index_of<D>(band.index[i], strides);
    bool copy = false;
    for (std::size_t d = 0; d < D; ++d) copy |= c[d] == 0 && phi.stagger().on_side[d] == 1 && phi.grid().first_cell()[d] > 0;
    carried += !copy;
  }
  return parallel::global_sum(*phi.grid().communicator(), carried);
}

template <class T, int D>
grid::FateCounts advance_markers(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt, grid::Trace trace,
                                 grid::SolidBoundary<T, D>* solid, double pushed_radius, double time, Workspace& workspace) {
  T* const position = grid::particle_positions<T, D>(particles);
  T* const radius = pushed_radius > 0.0 ? grid::particle_values<T>(particles, "radius", 1) : nullptr;
  require(!solid || solid->grid() == velocity.grid(), "solid must have the grid of the velocity");
  const Index n = particles.size();
  const auto moved = workspace.take<T>(n * D);
  const auto fates = workspace.take<grid::ParticleFate>(n);
  std::copy_n(position, n * D, moved.data());
  grid::advance_points(velocity, moved.data(), n, dt, trace, grid::OutsidePoints::keep, time, workspace);

  grid::ParticleBoundary<D> boundary;
  for (std::size_t s = 0; s < boundary.open.size(); ++s)
    boundary.open[s] = !std::holds_alternative<grid::Wall>(velocity.boundary()[s]);
  if (solid) {
    solid->levelset().fill_ghosts(time);
    boundary.solid = &solid->levelset();
  }
  grid::FateCounts counts = grid::apply_particle_boundary(velocity.grid(), boundary, moved.data(), n, fates.data());
  const auto removed = workspace.take<std::uint8_t>(n);
  grid::flag_lost(fates.data(), n, true, removed.data());
  const NoInterrupts commit;
  std::copy_n(moved.data(), n * D, position);
  if (radius && counts.pushed > 0)
    for (Index i = 0; i < n; ++i)
      if (fates.data()[i] == grid::ParticleFate::pushed) radius[i] = std::min(radius[i], static_cast<T>(pushed_radius));
  if (counts.left + counts.in_solid > 0) particles.remove(removed.data(), workspace);
  if (!velocity.grid().block().cut()) return counts;
  // One block does not sort them, either.
  grid::migrate_particles<D>(particles, velocity.grid(), workspace, grid::MigratedOrder::any);
  parallel::add_up(*velocity.grid().communicator(), {&counts.pushed, &counts.in_solid, &counts.left});
  return counts;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                              \
  template Index advect_band<T, D>(grid::Field<T, D>&, grid::MacField<T, D>&, double, double, grid::Trace, grid::Interpolation, \
                                   double, Workspace&);                                                                         \
  template grid::FateCounts advance_markers<T, D>(grid::ParticleSet&, grid::MacField<T, D>&, double, grid::Trace,               \
                                                  grid::SolidBoundary<T, D>*, double, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
