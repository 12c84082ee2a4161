#include "meniscus/fluids/vorticity/vortex_particles.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/vorticity/cell_gradient.hpp"
#include "meniscus/grid/blocks/owner_exchange.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/multilinear_stencil.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

template <int D>
using Matrix = Eigen::Matrix<double, D, D>;

template <class T, int D>
Matrix<D> gradient_at(const CellGradient<T, D>& gradient, const grid::Grid<D>& grid, const T* x) {
  Matrix<D> sum = Matrix<D>::Zero();
  using Stencil = grid::MultilinearStencil<double, D>;
  Stencil around(grid::locate_in_extended_domain(grid, x), grid::Stagger<D>::cell());
  for (std::size_t d = 0; d < D; ++d) around.lower[d] = grid::lower_cell_in_block(grid, static_cast<int>(d), around.lower[d]);
  for (int q = 0; q < Stencil::corners; ++q) {
    const double weight = around.weight(q);
    if (weight == 0.0) continue;
    for (int a = 0; a < D; ++a) {
      const T* face = gradient.lower_face(a, around.sample(q));
      for (int b = 0; b < D; ++b) sum(a, b) += weight * static_cast<double>(gradient(a, b, face));
    }
  }
  return sum;
}

/// The vorticity after dt in a flow of the given gradient. Sizes are in double, so that what is kept is kept to the last bits of
/// T.
template <class T>
void stretch(const T* w, const Eigen::Ref<const Matrix<3>>& gradient, double dt, bool second_order, Stretching stretching,
             T* out) {
  const Vec<double, 3> before = Eigen::Map<const Vec<T, 3>>(w).template cast<double>();
  const Vec<double, 3> middle = second_order ? Vec<double, 3>(before + 0.5 * dt * (gradient * before)) : before;
  Vec<double, 3> after = before + dt * (gradient * middle);
  const double old_size = before.norm();
  const double new_size = after.norm();
  const bool rescale = stretching == Stretching::renormalize || (stretching == Stretching::clamp && new_size > old_size);
  // A vorticity that one large step has flattened to nothing has no direction left; it keeps the one that it had.
  if (rescale) after = new_size > 0.0 ? Vec<double, 3>(after * (old_size / new_size)) : before;
  for (int i = 0; i < 3; ++i) out[i] = static_cast<T>(after[i]);
}

}  // namespace

template <class T, int D>
VortexColumns<T, D>::VortexColumns(grid::ParticleSet& particles)
    : position(grid::particle_positions<T, D>(particles)),
      vorticity(grid::particle_values<T>(particles, "vorticity", vorticity_components<D>)),
      radius(grid::particle_values<T>(particles, "radius", 1)) {}

template <class T, int D>
grid::FateCounts advance_vortex_particles(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt,
                                          const VortexAdvance& options, const grid::SolidBoundary<T, D>* solid, double time,
                                          Workspace& workspace) {
  const VortexColumns<T, D> columns(particles);
  const grid::Grid<D>& grid = velocity.grid();
  require(!solid || solid->grid() == grid, "solid must have the grid of the velocity");
  const Index n = particles.size();
  constexpr Index width = vorticity_components<D>;

  const auto positions = workspace.take<T>(n * D);
  std::copy_n(columns.position, n * D, positions.data());
  advance_points(velocity, positions.data(), n, dt, options.trace, grid::OutsidePoints::keep, time, workspace);

  const auto vorticities = workspace.take<T>(n * width);
  if constexpr (D == 3) {
    const bool second_order = options.trace != grid::Trace::euler;
    const auto middle = workspace.take<T>(n * D);
    std::copy_n(columns.position, n * D, middle.data());
    if (second_order) {
      const auto u = workspace.take<T>(n * D);
      grid::sample_points(velocity, columns.position, n, time, u.data());
      for (Index i = 0; i < n * D; ++i) middle.data()[i] += static_cast<T>(0.5 * dt) * u.data()[i];
    }
    const CellGradient<T, D> gradient(velocity);
    using Place = std::array<T, D>;
    using Entries = std::array<double, std::size_t{D} * D>;
    const auto found = workspace.take<Entries>(n);
    grid::ask_owners<D>(
        grid, reinterpret_cast<const Place*>(middle.data()), n, found.data(),
        [&](const Place& x) { return grid::locate_in_domain(grid, x.data()).cell; },
        [&](const Place* places, Index count, Entries* answers) {
          parallel_for(0, count, 256, [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i)
              Eigen::Map<Matrix<D>>(answers[i].data()) = gradient_at(gradient, grid, places[i].data());
          });
        });
    parallel_for(0, n, 256, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        stretch(columns.vorticity + i * width, Eigen::Map<const Matrix<D>>(found.data()[i].data()), dt, second_order,
                options.stretching, vorticities.data() + i * width);
    });
  } else {
    std::copy_n(columns.vorticity, n * width, vorticities.data());
  }

  grid::ParticleBoundary<D> boundary;
  boundary.open.fill(options.leaving == LeavingParticles::remove);
  boundary.solid = solid ? &solid->levelset() : nullptr;
  boundary.in_solid = options.in_solid;
  const auto fates = workspace.take<grid::ParticleFate>(n);
  const grid::FateCounts counts = grid::apply_particle_boundary(grid, boundary, positions.data(), n, fates.data());
  const auto removed = workspace.take<std::uint8_t>(n);
  grid::flag_lost(fates.data(), n, true, removed.data());

  const NoInterrupts commit;
  std::copy_n(positions.data(), n * D, columns.position);
  std::copy_n(vorticities.data(), n * width, columns.vorticity);
  particles.remove(removed.data(), workspace);
  return counts;
}

template <class T, int D>
void sample_vorticity(const grid::MacField<T, D>& velocity, const T* points, Index n, T* values) {
  const CellGradient<T, D> gradient(velocity);
  constexpr int width = vorticity_components<D>;
  parallel_for(0, n, 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Matrix<D> g = gradient_at(gradient, velocity.grid(), points + i * D);
      for (int k = 0; k < width; ++k) {
        const auto [a, b] = curl_axes<D>(k);
        values[i * width + k] = static_cast<T>(g(b, a) - g(a, b));
      }
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                         \
  template struct VortexColumns<T, D>;                                                                                     \
  template grid::FateCounts advance_vortex_particles<T, D>(grid::ParticleSet&, grid::MacField<T, D>&, double,              \
                                                           const VortexAdvance&, const grid::SolidBoundary<T, D>*, double, \
                                                           Workspace&);                                                    \
  template void sample_vorticity<T, D>(const grid::MacField<T, D>&, const T*, Index, T*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
