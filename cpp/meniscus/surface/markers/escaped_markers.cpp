#include "meniscus/surface/markers/escaped_markers.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/particles/particle_numbering.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"
#include "meniscus/surface/markers/particle_order.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {
namespace {

/// Why a marker goes.
enum Reason : std::uint8_t { stays, escaped_inside, escaped_outside, too_deep };

/// Copies of the markers that go for a reason, with the velocity of the flow.
template <class T, int D>
struct Leaving {
  Index size = 0;
  Workspace::Lease<T> position, velocity, radius;
  Transfer transfer;

  /// Collective. In the order of cells and ids, so that new ids do not depend on how markers came.
  Leaving(grid::ParticleSet& markers, const std::uint8_t* reasons, Reason reason, double fixed_radius, grid::MacField<T, D>& flow,
          double time, Workspace& workspace) {
    const MarkerColumns<T, D> m(markers);
    const auto list = list_indices(
        markers.size(),
        [&](Index begin, Index end, auto&& take) {
          for (Index i = begin; i < end; ++i)
            if (reasons[i] == reason) take(i);
        },
        workspace);
    size = list.size;
    position = workspace.take<T>(size * D);
    velocity = workspace.take<T>(size * D);
    radius = workspace.take<T>(size);
    numerics::BinnedSum volume;
    Index k = 0;
    for (const PlacedParticle& p : ordered_by_cell<T, D>(flow.grid(), markers, list.index, size)) {
      std::copy_n(m.position + p.index * D, D, position.data() + k * D);
      radius.data()[k] = fixed_radius > 0.0 ? static_cast<T>(fixed_radius) : m.radius[p.index];
      volume.add(ball_volume<D>(static_cast<double>(radius.data()[k++])));
    }
    transfer = transfer_of_all(*flow.grid().communicator(), size, volume);
    grid::sample_points(flow, position.data(), size, time, velocity.data());
  }

  /// Collective.
  void append_to(grid::ParticleSet* target, const grid::Grid<D>& grid) const {
    if (!target || transfer.count == 0) return;
    const Index first = target->append(size);
    const SprayColumns<T, D> s(*target);
    std::copy_n(position.data(), size * D, s.position + first * D);
    std::copy_n(velocity.data(), size * D, s.velocity + first * D);
    std::copy_n(radius.data(), size, s.radius + first);
    if (grid.block().cut()) grid::number_new_particles<D>(*target, first, grid);
  }
};

}  // namespace

template <class T, int D>
Removal remove_escaped(grid::Field<T, D>& phi, grid::ParticleSet& markers, const EscapeRules& rules,
                       grid::MacField<T, D>& velocity, grid::ParticleSet* spray, grid::ParticleSet* bubbles, double time,
                       Workspace& workspace) {
  require(std::isfinite(rules.distance) && rules.distance > 0.0, "distance must be positive and finite, got ", rules.distance);
  require(std::isfinite(rules.removed_radius) && rules.removed_radius >= 0.0, "radius must not be negative, got ",
          rules.removed_radius);
  require(rules.depth >= 0.0, "depth must not be negative, got ", rules.depth);
  require(phi.grid() == velocity.grid(), "the level set and the velocity must have the same grid");
  if (rules.far_radii) check(*rules.far_radii);
  const MarkerColumns<T, D> m(markers);
  if (spray) static_cast<void>(SprayColumns<T, D>(*spray));
  if (bubbles) static_cast<void>(SprayColumns<T, D>(*bubbles));
  const Index n = markers.size();
  const auto values = workspace.take<T>(n);
  grid::sample_points(phi, m.position, n, grid::Interpolation::linear, time, values.data());
  const auto reasons = workspace.take<std::uint8_t>(n);
  const auto distance = static_cast<T>(rules.distance);
  const auto depth = static_cast<T>(rules.depth);
  const Index going = parallel_reduce(
      0, n, 16384, Index{0},
      [&](Index begin, Index end) {
        Index count = 0;
        for (Index i = begin; i < end; ++i) {
          const bool outside = m.sign[i] > 0;
          const T off = outside ? -values.data()[i] : values.data()[i];
          std::uint8_t reason = stays;
          if ((outside ? rules.outside : rules.inside) && off > distance * m.radius[i])
            reason = outside ? escaped_outside : escaped_inside;
          else if (outside && off > depth)
            reason = too_deep;
          reasons.data()[i] = reason;
          count += reason != stays;
        }
        return count;
      },
      [](Index a, Index b) { return a + b; });

  Removal info;
  const bool any_going = parallel::global_any(*phi.grid().communicator(), going > 0);
  if (any_going) {
    const auto leaving = [&](Reason reason, double radius) {
      return Leaving<T, D>(markers, reasons.data(), reason, radius, velocity, time, workspace);
    };
    const auto drops = leaving(escaped_inside, rules.removed_radius);
    const auto air = leaving(escaped_outside, rules.removed_radius);
    const Transfer deep = leaving(too_deep, 0.0).transfer;
    info.inside = drops.transfer;
    info.outside = {air.transfer.count + deep.count, air.transfer.volume + deep.volume};
    const NoInterrupts commit;
    drops.append_to(spray, phi.grid());
    air.append_to(bubbles, phi.grid());
  }
  const NoInterrupts commit;
  if (rules.far_radii) set_radii<T, D>(values.data(), markers, phi.grid().spacing(), *rules.far_radii, RadiusOf::far);
  if (going > 0) markers.remove(reasons.data(), workspace);
  return info;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                         \
  template Removal remove_escaped<T, D>(grid::Field<T, D>&, grid::ParticleSet&, const EscapeRules&, grid::MacField<T, D>&, \
                                        grid::ParticleSet*, grid::ParticleSet*, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
