#include "meniscus/surface/markers/particle_removal.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

/// Collective. Removes the particles for which wanted(i, phi at their place) holds; returns how many in all blocks. Calls
/// before(flags, phi at their places) before they go.
template <class T, int D, class Wanted, class Before>
Index remove_where(grid::Field<T, D>& phi, grid::ParticleSet& particles, double time, Workspace& workspace, Wanted&& wanted,
                   Before&& before) {
  const Index n = particles.size();
  const auto values = workspace.take<T>(n);
  grid::sample_points(phi, grid::particle_positions<T, D>(particles), n, grid::Interpolation::linear, time, values.data());
  const auto flags = workspace.take<std::uint8_t>(n);
  parallel_for(0, n, 8192, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) flags.data()[i] = wanted(i, values.data()[i]);
  });
  const NoInterrupts commit;
  before(flags.data(), std::as_const(values).data());
  const Index removed = n > 0 ? particles.remove(flags.data(), workspace) : 0;
  return parallel::global_sum(*phi.grid().communicator(), removed);
}

constexpr auto nothing = [](const std::uint8_t*, const auto*) {};

}  // namespace

template <class T, int D>
Index remove_markers_on_wrong_side(grid::Field<T, D>& phi, grid::ParticleSet& markers, double reach,
                                   const std::optional<RadiusBounds>& radii, double time, Workspace& workspace) {
  if (radii) check(*radii);
  const MarkerColumns<T, D> m(markers);
  const auto on_wrong_side = [&](Index i, T value) {
    return static_cast<T>(m.sign[i]) * value < 0 && std::abs(value) <= static_cast<T>(reach);
  };
  return remove_where(phi, markers, time, workspace, on_wrong_side, [&](const std::uint8_t*, const T* values) {
    if (radii) set_radii<T, D>(values, markers, phi.grid().spacing(), *radii, RadiusOf::every);
  });
}

template <class T, int D>
Index remove_markers_in(grid::Field<T, D>& region, grid::ParticleSet& markers, int sign, Workspace& workspace) {
  require(sign == 1 || sign == -1, "sign must be 1 or -1, got ", sign);
  const MarkerColumns<T, D> m(markers);
  const auto touched = [&](Index i, T value) { return m.sign[i] == sign && value <= m.radius[i]; };
  return remove_where(region, markers, 0.0, workspace, touched, nothing);
}

template <class T, int D>
Transfer remove_spray_in(grid::Field<T, D>& region, grid::ParticleSet& spray, Workspace& workspace) {
  const SprayColumns<T, D> s(spray);
  Index count = 0;
  numerics::BinnedSum volume;
  remove_where(
      region, spray, 0.0, workspace, [](Index, T value) { return value <= 0; },
      [&](const std::uint8_t* flags, const T*) {
        for (Index i = 0; i < spray.size(); ++i) {
          if (!flags[i]) continue;
          ++count;
          volume.add(ball_volume<D>(static_cast<double>(s.radius[i])));
        }
      });
  return transfer_of_all(*region.grid().communicator(), count, volume);
}

template <class T, int D>
Index remove_outside(grid::Field<T, D>& region, grid::ParticleSet& particles, Workspace& workspace) {
  return remove_where(region, particles, 0.0, workspace, [](Index, T value) { return value > 0; }, nothing);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                           \
  template Index remove_markers_on_wrong_side<T, D>(grid::Field<T, D>&, grid::ParticleSet&, double,          \
                                                    const std::optional<RadiusBounds>&, double, Workspace&); \
  template Index remove_markers_in<T, D>(grid::Field<T, D>&, grid::ParticleSet&, int, Workspace&);           \
  template Transfer remove_spray_in<T, D>(grid::Field<T, D>&, grid::ParticleSet&, Workspace&);               \
  template Index remove_outside<T, D>(grid::Field<T, D>&, grid::ParticleSet&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
