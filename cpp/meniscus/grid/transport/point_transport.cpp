#include "meniscus/grid/transport/point_transport.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/blocks/far_points.hpp"
#include "meniscus/grid/blocks/owner_exchange.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/domain_sides.hpp"
#include "meniscus/grid/transport/lane_kernels.hpp"
#include "meniscus/grid/transport/trace_reach.hpp"
#include "meniscus/parallel/joint_reductions.hpp"

#include <cmath>

namespace meniscus::grid {
namespace {

/// Up to row_block points as coordinates in cells from the lower corner of the domain, whatever the block.
template <int D>
using LanePoints = LaneVectors<double, D>;

/// Cells of scattered points in the samples of a source; offsets count from the owned origin.
template <class T, int D>
MENISCUS_INLINE void locate_points(const SampleSource<T, D>& source, const LanePoints<D>& x, int n, int margin,
                                   detail::LaneCells<T, D>& cells) {
  const auto limit = static_cast<double>(detail::reach<D>(source.view.strides));
  for (int l = 0; l < n; ++l) {
    cells.offset[l] = 0;
    cells.slow[l] = 0;
  }
  for (int d = 0; d < D; ++d) {
    const auto first = static_cast<double>(source.layout->grid.first_cell()[d]);
    const double low = first + std::max(static_cast<double>(margin - ghost_width), -limit);
    const double high = first + std::min(static_cast<double>(source.view.extents[d] + ghost_width - 2 - margin), limit);
    const double shift = 0.5 * (1 - source.layout->stagger.on_side[d]);
    const auto stride = static_cast<std::int32_t>(source.view.strides[d]);
    // Clamped instead of tested, and in loops of one type each, for the vectoriser. NaN is clamped too.
    Lanes<double> nearest;
    for (int l = 0; l < n; ++l) {
      const double q = x[d][l] - shift;
      const double cell = std::floor(q);
      const double clamped = detail::smaller(detail::larger(cell, low), high);
      cells.fraction[d][l] = static_cast<T>(q - cell);
      cells.slow[l] |= cell == clamped ? 0 : 1;
      nearest[l] = clamped - first;
    }
    for (int l = 0; l < n; ++l) cells.offset[l] += static_cast<std::int32_t>(nearest[l]) * stride;
  }
}

/// With Bounds, linear values are kept between the corners that they come from, as in a pass of `advect`.
template <bool Bounds = true, class T, int D>
MENISCUS_INLINE void sample_lanes(const SampleSource<T, D>& source, const LanePoints<D>& x, int n, Interpolation interpolation,
                                  LaneSamples<T>& out) {
  detail::LaneCells<T, D> cells;
  locate_points(source, x, n, stencil_margin(interpolation), cells);
  if (interpolation == Interpolation::linear)
    detail::linear_lanes<Bounds, T, D>(source.view.origin, source.view.strides, cells, n, out);
  else
    detail::cubic_lanes<T, D>(interpolation, source.view.origin, source.view.strides, cells, n, out.value);
  int slow = 0;
  for (int l = 0; l < n; ++l) slow |= cells.slow[l];
  if (slow == 0) [[likely]]
    return;
  for (int l = 0; l < n; ++l) {
    if (!cells.slow[l]) continue;
    Coord<D> cell;
    std::array<T, D> fraction;
    for (int d = 0; d < D; ++d) {
      const double q = x[d][l] - 0.5 * (1 - source.layout->stagger.on_side[d]);
      const double whole = std::clamp(std::floor(q), -1e15, 1e15);
      cell[d] = static_cast<Index>(whole) - source.layout->grid.first_cell()[d];
      fraction[d] = static_cast<T>(std::clamp(q - whole, 0.0, 1.0));
    }
    out.value[l] = sample_in_cell<T, D>(source, cell, cell, fraction, interpolation, AllVisible{}).value;
  }
}

/// Reads points into cell coordinates.
template <class T, int D>
MENISCUS_INLINE void load(const Grid<D>& grid, const T* points, int n, LanePoints<D>& x) {
  const double h = grid.spacing();
  for (int d = 0; d < D; ++d) {
    const double origin = grid.origin()[d];
    for (int l = 0; l < n; ++l) x[d][l] = (static_cast<double>(points[l * D + d]) - origin) / h;
  }
}

template <class T, int D>
void require_finite_points(const T* points, Index n) {
  const Index first = first_not_finite(points, n * D);
  require(first == n * D, "points must be finite, but component ", first % D, " of point ", first / D, " is not");
}

template <int D, class Kernel>
void for_each_point_block(Index n, Kernel&& kernel) {
  parallel_for(0, (n + row_block - 1) / row_block, 32, [&](Index begin, Index end) {
    simd_dispatch([&] {
      for (Index b = begin; b < end; ++b) kernel(b * row_block, static_cast<int>(std::min<Index>(row_block, n - b * row_block)));
    });
  });
}

template <bool Bounds, class T, int D>
MENISCUS_INLINE void velocity_lanes(const VelocitySource<T, D>& velocity, const LanePoints<D>& x, int n, LaneVectors<T, D>& out) {
  LaneSamples<T> s;
  for (int d = 0; d < D; ++d) {
    sample_lanes<Bounds>(velocity.component[d], x, n, Interpolation::linear, s);
    out[d] = s.value;
  }
}

/// Velocity to move with for the whole step; k = dt / h.
template <bool Bounds = true, class T, int D>
MENISCUS_INLINE void step_velocity(const VelocitySource<T, D>& velocity, const LanePoints<D>& x, double k,
                                   const RungeKutta& method, int n, LaneVectors<T, D>& mean) {
  LaneVectors<T, D> v{};
  for (int d = 0; d < D; ++d)
    for (int l = 0; l < n; ++l) mean[d][l] = T(0);
  for (Index s = 0; s < method.stages; ++s) {
    const double along = method.at[s] * k;
    const auto weight = static_cast<T>(method.weight[s]);
    LanePoints<D> y;
    for (int d = 0; d < D; ++d)
      for (int l = 0; l < n; ++l) y[d][l] = x[d][l] + along * static_cast<double>(v[d][l]);
    velocity_lanes<Bounds>(velocity, y, n, v);
    for (int d = 0; d < D; ++d)
      for (int l = 0; l < n; ++l) mean[d][l] += weight * v[d][l];
  }
}

/// One of n points, row-major.
template <class T, int D>
struct Point {
  T x[D];
};

template <class T, int D>
const Point<T, D>* as_points(const T* points) {
  return reinterpret_cast<const Point<T, D>*>(points);
}

/// What samples at points read beyond the block: cells from its ghosts, and no farther than these hold.
constexpr Index layers_of_samples = 1;

/// Collective: calls answer(points, n, outside, answers) for the points of all blocks, where their cells are, or where these are
/// among so many layers beside the block. `outside`: cells by which a point of any block lies beyond a side of the domain, at
/// most; continuation looks as far inside. Zero where the grid is not cut.
template <int D, class T, class Answer, class Body>
void ask_at_points(const Grid<D>& grid, const T* points, Index n, Index layers, Answer* answers, Body&& answer) {
  if (!grid.block().cut()) {
    answer(points, n, 0.0, answers);
    return;
  }
  const PointBox<D> box = box_of_points<T, D>(points, n);
  const std::vector<Index> far = far_points<T, D>(grid, points, n, box, layers);
  std::array<double, 2> most{cells_outside(grid, box), far.empty() ? 0.0 : 1.0};
  parallel::global_maxima(*grid.communicator(), most);
  if (most[1] == 0.0) {
    answer(points, n, most[0], answers);
    return;
  }
  ask_owners_of<D>(
      far, grid, as_points<T, D>(points), n, answers, [&](const Point<T, D>& p) { return locate_in_domain(grid, p.x).cell; },
      [&](const Point<T, D>* p, Index count, Answer* to) { answer(reinterpret_cast<const T*>(p), count, most[0], to); });
}

template <class T, int D>
void sample_in_block(const SampleSource<T, D>& source, const T* points, Index n, Interpolation interpolation, T* values) {
  for_each_point_block<D>(n, [&](Index first, int count) {
    LanePoints<D> x;
    load(source.layout->grid, points + first * D, count, x);
    LaneSamples<T> s;
    sample_lanes(source, x, count, interpolation, s);
    for (int l = 0; l < count; ++l) values[first + l] = s.value[l];
  });
}

/// How points move in one step.
struct Motion {
  double dt;
  RungeKutta method;
  OutsidePoints outside;
};

template <class T, int D>
void move_in_block(const VelocitySource<T, D>& source, const Grid<D>& grid, const T* points, Index n, const Motion& motion,
                   T* result) {
  const DomainSides<D> sides(grid);
  const double k = motion.dt / grid.spacing();
  for_each_point_block<D>(n, [&](Index first, int count) {
    LanePoints<D> x;
    load(grid, points + first * D, count, x);
    LaneVectors<T, D> v;
    step_velocity(source, x, k, motion.method, count, v);
    for (int d = 0; d < D; ++d) {
      // Moving in metres keeps a point that does not move exactly where it was.
      Lanes<double> moved;
      for (int l = 0; l < count; ++l)
        moved[l] = static_cast<double>(points[(first + l) * D + d]) + motion.dt * static_cast<double>(v[d][l]);
      if (motion.outside == OutsidePoints::clamp)
        for (int l = 0; l < count; ++l) moved[l] = sides.nearest(d, moved[l]);
      else if (grid.periodic()[Index{d}])
        for (int l = 0; l < count; ++l) moved[l] = sides.image(d, moved[l]);
      for (int l = 0; l < count; ++l) result[(first + l) * D + d] = static_cast<T>(moved[l]);
    }
  });
}

}  // namespace

template <class T, int D>
void sample_points(Field<T, D>& field, const T* points, Index n, Interpolation interpolation, double time, T* values) {
  require_finite_points<T, D>(points, n);
  field.fill_ghosts(time);
  const FieldLayout<D>& layout = field.layout();
  ask_at_points<D>(layout.grid, points, n, layers_of_samples, values, [&](const T* x, Index count, double outside, T* to) {
    FarValues<D> far;
    if (layout.grid.block().cut())
      far.fetch(layout, field.storage().data(), far_reach(outside, 1 + stencil_margin(interpolation)));
    sample_in_block<T, D>({&layout, layout.view(static_cast<const T*>(field.storage().data())), time, &far}, x, count,
                          interpolation, to);
  });
}

template <class T, int D>
void sample_points(const FieldLayout<D>& layout, const T* block, const T* points, Index n, Interpolation interpolation,
                   double time, T* values) {
  require_finite_points<T, D>(points, n);
  sample_in_block<T, D>({&layout, layout.view(block), time}, points, n, interpolation, values);
}

template <class T, int D>
void sample_points(MacField<T, D>& velocity, const T* points, Index n, double time, T* velocities) {
  require_finite_points<T, D>(points, n);
  velocity.fill_ghosts(time);
  const Grid<D>& grid = velocity.grid();
  ask_at_points<D>(grid, points, n, layers_of_samples, reinterpret_cast<Point<T, D>*>(velocities),
                   [&](const T* points_here, Index here, double outside, Point<T, D>* to) {
                     const auto far = far_values(velocity, outside, time);
                     const VelocitySource<T, D> source(velocity, time, far.data());
                     for_each_point_block<D>(here, [&](Index first, int count) {
                       LanePoints<D> x;
                       load(grid, points_here + first * D, count, x);
                       LaneVectors<T, D> v;
                       velocity_lanes<true>(source, x, count, v);
                       for (int l = 0; l < count; ++l)
                         for (int d = 0; d < D; ++d) to[first + l].x[d] = v[d][l];
                     });
                   });
}

template <class T, int D>
void advance_points(MacField<T, D>& velocity, T* points, Index n, double dt, Trace trace, OutsidePoints outside, double time,
                    Workspace& workspace) {
  require(std::isfinite(dt), "dt must be finite, got ", dt);
  require_finite_points<T, D>(points, n);
  require_finite(velocity);
  velocity.fill_ghosts(time);
  const Grid<D>& grid = velocity.grid();
  const Motion motion{dt, runge_kutta(trace), outside};
  const double speed = max_component_speeds(velocity).with_ghosts;
  const double asked = farthest_stage(trace) * std::abs(dt) / grid.spacing();
  const auto result = workspace.take<T>(n * D);
  ask_at_points<D>(grid, static_cast<const T*>(points), n, 0, reinterpret_cast<Point<T, D>*>(result.data()),
                   [&](const T* x, Index count, double outside_by, Point<T, D>* to) {
                     const auto far = far_values(velocity, trace_reach(velocity, speed, asked, outside_by, time), time);
                     move_in_block(VelocitySource<T, D>(velocity, time, far.data()), grid, x, count, motion,
                                   reinterpret_cast<T*>(to));
                   });
  const NoInterrupts commit;
  parallel_for(0, n * D, 1 << 16,
               [&](Index begin, Index end) { std::copy(result.data() + begin, result.data() + end, points + begin); });
}

template <class T, int D>
void sample_along(MacField<T, D>& out, MacField<T, D>& source, const std::vector<PathStep<T, D>>& path, Trace trace,
                  Interpolation interpolation, double time, bool add) {
  const Grid<D>& grid = source.grid();
  require(out.grid() == grid && &out != &source, "the result must be another field on the grid of the source");
  require(!grid.block().cut(), "a map of the flow needs a grid that is not cut into blocks");
  require_finite(source);
  source.fill_ghosts(time);
  std::vector<VelocitySource<T, D>> velocities;
  for (const PathStep<T, D>& step : path) {
    require(step.velocity->grid() == grid && step.velocity != &out, "a path needs other fields on the grid of the source");
    require_finite(*step.velocity);
    step.velocity->fill_ghosts(time);
    velocities.emplace_back(*step.velocity, time);
  }
  const VelocitySource<T, D> from(source, time);
  const RungeKutta method = runge_kutta(trace);
  for (int c = 0; c < D; ++c) {
    const FieldView<T, D> to = out.component(c).view();
    const Stagger<D> stagger = Stagger<D>::face(c);
    for_each_run<D>(to.extents, [&](const RowRun<D>& run) {
      simd_dispatch([&] {
        const int n = run.count;
        LanePoints<D> x;
        LaneVectors<T, D> v;
        for (int d = 0; d < D; ++d) {
          const double first = static_cast<double>(run.base[d]) + 0.5 * (1 - stagger.on_side[d]);
          for (int l = 0; l < n; ++l) x[d][l] = first + (d == D - 1 ? l : 0);
        }
        for (std::size_t s = 0; s < path.size(); ++s) {
          const double k = path[s].dt / grid.spacing();
          step_velocity<false>(velocities[s], x, k, method, n, v);
          for (int d = 0; d < D; ++d) {
            for (int l = 0; l < n; ++l) x[d][l] += k * static_cast<double>(v[d][l]);
            const auto cells = static_cast<double>(grid.shape()[d]);
            if (grid.periodic()[Index{d}])
              for (int l = 0; l < n; ++l) x[d][l] -= cells * std::floor(x[d][l] / cells);
          }
        }
        LaneSamples<T> sample;
        sample_lanes(from.component[c], x, n, interpolation, sample);
        T* const p = to.at(run.base);
        for (int l = 0; l < n; ++l) p[l] = sample.value[l] + (add ? p[l] : T(0));
      });
    });
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                             \
  template void sample_along<T, D>(MacField<T, D>&, MacField<T, D>&, const std::vector<PathStep<T, D>>&, Trace, Interpolation, \
                                   double, bool);                                                                              \
  template void sample_points<T, D>(Field<T, D>&, const T*, Index, Interpolation, double, T*);                                 \
  template void sample_points<T, D>(const FieldLayout<D>&, const T*, const T*, Index, Interpolation, double, T*);              \
  template void sample_points<T, D>(MacField<T, D>&, const T*, Index, double, T*);                                             \
  template void advance_points<T, D>(MacField<T, D>&, T*, Index, double, Trace, OutsidePoints, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
