#include "meniscus/grid/walls/wall_guard.hpp"

#include "meniscus/grid/transport/velocity_lanes.hpp"

#include <cmath>

namespace meniscus::grid {
namespace {

/// Cells beyond the ends of a way that stencils and means of samples reach.
constexpr double linear_stencil = 2.5;

}  // namespace

template <class T, int D>
void WallGuard<T, D>::find(const VelocitySource<T, D>& velocity, const Stagger<D>& stagger, const Coord<D>& strides,
                           const RowRun<D>& run, const LaneVectors<T, D>& displacement, T dt_over_h, Trace trace, bool needed,
                           Lanes<std::uint8_t>& lanes) const {
  const double stencil_cells = linear_stencil + margin;
  const double farthest = reach + stencil_cells;
  LaneVectors<T, D> first;
  bool known = false;
  Coord<D> at = run.base;
  for (int l = 0; l < run.count; ++l, ++at[D - 1]) {
    lanes[l] = 0;
    const auto clear = static_cast<double>(walls->clearance(stagger, at));
    if (clear > farthest) continue;
    std::uint8_t& mark = guarded[dot<D>(at, strides)];
    if (!needed && mark) continue;
    // The way of this sample: to the place it comes from, and to where the velocity is asked for on the way.
    double way = trace == Trace::rk3 ? reach : 0.0;
    if (clear > 0 && !known) {
      velocity_at_samples(velocity, stagger, run, first);
      known = true;
    }
    if (clear > 0)
      for (int d = 0; d < D; ++d) {
        const double stage = 0.5 * static_cast<double>(std::abs(dt_over_h * first[d][l]));
        way = std::max({way, static_cast<double>(std::abs(displacement[d][l])), stage});
      }
    if (clear > way + stencil_cells) continue;
    mark = 1;
    lanes[l] = needed;
  }
}

template <class T, int D>
void WallGuard<T, D>::apply(const VelocitySource<T, D>& velocity, const SampleSource<T, D>& source, const RowRun<D>& run,
                            const LaneVectors<T, D>& displacement, T dt_over_h, Trace trace, bool needed,
                            LaneSamples<T>& out) const {
  Lanes<std::uint8_t> lanes;
  find(velocity, source.layout->stagger, source.view.strides, run, displacement, dt_over_h, trace, needed, lanes);
  const double dt = static_cast<double>(dt_over_h) * walls->grid().spacing();
  Coord<D> at = run.base;
  for (int l = 0; l < run.count; ++l, ++at[D - 1]) {
    if (!lanes[l]) continue;
    const PointSample<T> s = advect_one_sided<T, D>(velocity, source, *walls, stand_in, at, dt, trace);
    out.value[l] = s.value;
    out.low[l] = s.low;
    out.high[l] = s.high;
  }
}

template struct WallGuard<float, 3>;
template struct WallGuard<double, 2>;
template struct WallGuard<double, 3>;

}  // namespace meniscus::grid
