// Sampling of procedural flows on staggered grids and at points, and advection of points by them.
#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/flows/procedural_flow.hpp"
#include "meniscus/grid/rows.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

/// Mean normal velocity of a face: the circulation of the potential around it, by the midpoint rule on every edge, over its area.
template <int D>
double face_circulation(const Flow<D>& flow, const Vec<double, D>& face, int axis, double h, double t) {
  const auto potential = [&](int toward, double sign, int component) {
    Vec<double, D> x = face;
    x[toward] += sign * 0.5 * h;
    return flow.potential(x, t)[component];
  };
  if constexpr (D == 2) {
    const int other = 1 - axis;
    const double difference = potential(other, 1.0, 0) - potential(other, -1.0, 0);
    return (axis == 0 ? difference : -difference) / h;
  } else {
    const int b = (axis + 1) % 3;
    const int c = (axis + 2) % 3;
    return ((potential(b, 1.0, c) - potential(b, -1.0, c)) - (potential(c, 1.0, b) - potential(c, -1.0, b))) / h;
  }
}

}  // namespace

template <class T, int D>
void sample_flow(const Flow<D>& flow, grid::MacField<T, D>& velocity, double time, FaceSampling sampling, Workspace& workspace) {
  require(std::isfinite(time), "time must be finite, got ", time);
  require(sampling == FaceSampling::pointwise || flow.has_potential(),
          "a flow with sources has no potential; sample it with sampling='pointwise'");
  const grid::Grid<D>& grid = velocity.grid();
  std::array<Workspace::Lease<T>, D> result;
  for (int axis = 0; axis < D; ++axis) {
    const grid::FieldLayout<D>& layout = velocity.component(axis).layout();
    auto& storage = result[axis];
    storage = workspace.take<T>(layout.storage_size());
    const grid::FieldView<T, D> view = layout.view(storage.data());
    grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Coord<D> c = grid::row_start<D>(view.extents, r);
        for (c[D - 1] = 0; c[D - 1] < view.extents[D - 1]; ++c[D - 1]) {
          const Vec<double, D> x = grid::sample_position<D>(grid, layout.stagger, c);
          *view.at(c) =
              static_cast<T>(sampling == FaceSampling::pointwise ? flow.velocity(x, time)[axis]
                                                                 : face_circulation(flow, x, axis, grid.spacing(), time));
        }
      }
    });
  }
  const NoInterrupts commit;
  for (int axis = 0; axis < D; ++axis) {
    grid::Field<T, D>& component = velocity.component(axis);
    grid::copy_owned(component.layout(), result[axis].data(), component.storage().data());
  }
}

template <int D>
void sample_flow(const Flow<D>& flow, const double* points, Index n, double time, double* velocities) {
  parallel_for(0, n, 1024, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      Eigen::Map<Vec<double, D>>(velocities + i * D) = flow.velocity(Eigen::Map<const Vec<double, D>>(points + i * D), time);
  });
}

template <int D>
void advance_points(const Flow<D>& flow, double* points, Index n, double time, double dt, grid::Trace trace,
                    Workspace& workspace) {
  require(std::isfinite(dt), "dt must be finite, got ", dt);
  const auto result = workspace.take<double>(n * D);
  const grid::RungeKutta method = grid::runge_kutta(trace);
  using V = Vec<double, D>;
  parallel_for(0, n, 1024, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const V x = Eigen::Map<const V>(points + i * D);
      V k = V::Zero();
      V v = V::Zero();
      for (Index stage = 0; stage < method.stages; ++stage) {
        const double at = method.at[stage] * dt;
        k = flow.velocity(x + at * k, time + at);
        v += method.weight[stage] * k;
      }
      Eigen::Map<V>(result.data() + i * D) = x + dt * v;
    }
  });
  const NoInterrupts commit;
  std::copy_n(result.data(), n * D, points);
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void sample_flow<T, D>(const Flow<D>&, grid::MacField<T, D>&, double, FaceSampling, Workspace&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE
#define MENISCUS_INSTANTIATE(D)                                                        \
  template void sample_flow<D>(const Flow<D>&, const double*, Index, double, double*); \
  template void advance_points<D>(const Flow<D>&, double*, Index, double, double, grid::Trace, Workspace&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
