#include "meniscus/fluids/particles/liquid_region.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/grid/particles/point_images.hpp"

#include <algorithm>

namespace meniscus::fluids {
namespace {

/// inside[i] for all particles.
template <class T, int D>
Workspace::Lease<std::uint8_t> particles_in(grid::ParticleSet& particles, const LiquidRegion<D>& region, Workspace& workspace) {
  const T* const x = grid::particle_positions<T, D>(particles);
  const Index n = particles.size();
  auto inside = workspace.take<std::uint8_t>(n);
  const auto points = workspace.take<double>(n * D);
  parallel_for(0, n * D, 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) points.data()[i] = static_cast<double>(x[i]);
  });
  region.mark_inside(points.data(), n, inside.data());
  return inside;
}

}  // namespace

template <int D>
LiquidRegion<D>::LiquidRegion(surface::ShapePointer<D> shape, const surface::RigidPose<D>& pose, const grid::Grid<D>& grid)
    : shape_(std::move(shape)), pose_(pose), shifts_(grid::shifts_to_copies(grid)) {}

template <int D>
void LiquidRegion<D>::mark_inside(const double* points, Index n, std::uint8_t* inside) const {
  parallel_for(0, n, surface::shape_batch, [&](Index begin, Index end) {
    std::array<double, std::size_t{surface::shape_batch} * D> body;
    std::array<double, surface::shape_batch> phi;
    std::fill(inside + begin, inside + end, std::uint8_t{0});
    for (const Vec<double, D>& shift : shifts_) {
      for (Index i = begin; i < end; ++i)
        Eigen::Map<Vec<double, D>>(body.data() + (i - begin) * D) =
            pose_.to_body(Eigen::Map<const Vec<double, D>>(points + i * D) + shift);
      shape_->evaluate(body.data(), static_cast<int>(end - begin), phi.data());
      for (Index i = begin; i < end; ++i) inside[i] |= phi[i - begin] <= 0.0;
    }
  });
}

template <class T, int D>
void set_velocity_in(grid::ParticleSet& particles, const LiquidRegion<D>& region, const Vec<double, D>& velocity,
                     Workspace& workspace) {
  T* const v = grid::particle_values<T>(particles, "velocity", D);
  T* const affine = grid::optional_particle_values<T>(particles, "affine", D * D);
  const auto inside = particles_in<T, D>(particles, region, workspace);
  parallel_for(0, particles.size(), 8192, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      if (!inside.data()[i]) continue;
      for (int d = 0; d < D; ++d) v[i * D + d] = static_cast<T>(velocity[d]);
      if (affine) std::fill_n(affine + i * D * D, D * D, T(0));
    }
  });
}

template <class T, int D>
Index remove_particles_in(grid::ParticleSet& particles, const LiquidRegion<D>& region, Workspace& workspace) {
  return particles.remove(particles_in<T, D>(particles, region, workspace).data(), workspace);
}

template class LiquidRegion<2>;
template class LiquidRegion<3>;
#define MENISCUS_INSTANTIATE(T, D)                                                                                    \
  template void set_velocity_in<T, D>(grid::ParticleSet&, const LiquidRegion<D>&, const Vec<double, D>&, Workspace&); \
  template Index remove_particles_in<T, D>(grid::ParticleSet&, const LiquidRegion<D>&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
