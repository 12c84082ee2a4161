#include "meniscus/grid/transport/advect.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/transport/advection_checks.hpp"
#include "meniscus/grid/transport/advection_scheme.hpp"
#include "meniscus/grid/transport/trace_reach.hpp"

#include <cmath>
#include <limits>

namespace meniscus::grid {
namespace {

/// The options with the transport block of the scheme.
AdvectOptions resolved(const AdvectOptions& options) {
  AdvectOptions o = options;
  o.pass.block = o.scheme->block.value_or(o.pass.block);
  return o;
}

/// Substeps that keep upwind blocks stable: dt sum |V_d| <= h (SEL-01 in the method index).
template <class T, int D>
int upwind_substeps(const MacField<T, D>& velocity, const Stagger<D>& stagger, double dt, const AdvectOptions& options) {
  if (options.pass.block != TransportBlock::upwind) return 1;
  const double sum = max_speed_sum(velocity, stagger) * dt / velocity.grid().spacing();
  // A step of exactly the limit, such as a full shift, must not be cut for the sake of rounding.
  const double substeps = std::ceil(sum * (1.0 - 16.0 * std::numeric_limits<T>::epsilon()));
  require(substeps <= 1e6, "upwinding this velocity for dt = ", dt, " s would take ", substeps, " substeps");
  return std::max(1, static_cast<int>(substeps));
}

template <int D>
void require_walls(const WallRule<D>& walls, const Grid<D>& grid, const AdvectOptions& options) {
  if (!walls.walls) return;
  require(walls.walls->grid() == grid, "the walls must have the grid of the velocity");
  require(options.pass.block == TransportBlock::semi_lagrangian, "thin walls need a semi-Lagrangian transport");
}

/// Result of all substeps of one scalar, ready to be committed.
template <class T, int D>
Workspace::Lease<T> transported(const FieldLayout<D>& layout, T* storage, const VelocitySource<T, D>& velocity, double dt,
                                int substeps, const AdvectionReach& reach, const AdvectOptions& options, const AdvectMasks& masks,
                                const WallRule<D>& walls, Workspace& workspace) {
  const TransportMasks<T, D> prepared(layout, masks, options, reach.cfl / substeps, workspace);
  // Upwind blocks, which alone have substeps, look at the next samples.
  AdvectionStep<T, D> step(layout, velocity, substeps > 1 ? 1.0 : reach.traced, options, prepared, walls, workspace);
  const auto advance = [&](T* from, T* to, double time, double duration) {
    step.begin(from, to, time, duration);
    options.scheme->advance(step);
  };
  auto result = workspace.take<T>(layout.storage_size());
  const double h = dt / substeps;
  advance(storage, result.data(), options.time, h);
  if (substeps > 1) {
    auto other = workspace.take<T>(layout.storage_size());
    for (int s = 1; s < substeps; ++s) {
      check_interrupt();
      std::swap(result, other);
      advance(other.data(), result.data(), options.time + s * h, h);
    }
  }
  return result;
}

template <class T, int D>
void require_same_place(const Field<T, D>& a, const Field<T, D>& b, const char* name) {
  require(a.layout().same_place(b.layout()), name, " must have the grid and the sample location of the field");
  require(a.storage().data() != b.storage().data(), name, " must not be the field itself");
}

}  // namespace

template <class T, int D>
AdvectInfo advect(Field<T, D>& field, MacField<T, D>& velocity, double dt, const AdvectOptions& requested,
                  const AdvectMasks& masks, Workspace& workspace, const WallRule<D>& walls) {
  const AdvectOptions options = resolved(requested);
  require_walls(walls, velocity.grid(), options);
  AdvectInfo info;
  const AdvectionReach reach = checked_reach(field.grid(), velocity, dt, options.time);
  info.cfl = reach.cfl;
  require_finite(field, "field");
  info.substeps = upwind_substeps(velocity, field.stagger(), dt, options);
  const auto far = far_values(velocity, velocity_reach(options.pass, reach.traced), options.time);
  const VelocitySource<T, D> source(velocity, options.time, far.data());
  const auto result = transported<T, D>(field.layout(), field.storage().data(), source, dt, info.substeps, reach, options, masks,
                                        walls, workspace);
  check_interrupt();
  const NoInterrupts commit;
  copy_owned(field.layout(), result.data(), field.storage().data());
  return info;
}

template <class T, int D>
AdvectInfo advect(MacField<T, D>& field, MacField<T, D>& velocity, double dt, const AdvectOptions& requested,
                  const std::array<AdvectMasks, D>& masks, Workspace& workspace, const WallRule<D>& walls) {
  const AdvectOptions options = resolved(requested);
  require_walls(walls, velocity.grid(), options);
  AdvectInfo info;
  const AdvectionReach reach = checked_reach(field.grid(), velocity, dt, options.time);
  info.cfl = reach.cfl;
  if (&field != &velocity) require_finite(field);
  for (int d = 0; d < D; ++d)
    info.substeps = std::max(info.substeps, upwind_substeps(velocity, Stagger<D>::face(d), dt, options));
  const auto far = far_values(velocity, velocity_reach(options.pass, reach.traced), options.time);
  const VelocitySource<T, D> source(velocity, options.time, far.data());
  std::array<Workspace::Lease<T>, D> result;
  for (int d = 0; d < D; ++d) {
    Field<T, D>& c = field.component(d);
    const Index i = d;
    result[i] = transported<T, D>(c.layout(), c.storage().data(), source, dt, info.substeps, reach, options, masks[i],
                                  WallRule<D>{walls.walls, {d, 0.0}}, workspace);
    field.set_given_faces(d, result[i].data(), options.time + dt);
  }
  check_interrupt();
  const NoInterrupts commit;
  for (int d = 0; d < D; ++d) copy_owned(field.component(d).layout(), result[d].data(), field.component(d).storage().data());
  return info;
}

template <class T, int D>
void first_order_pass(Field<T, D>& field, MacField<T, D>& velocity, double dt, const PassOptions& options, double time,
                      Field<T, D>& out, Field<T, D>* low, Field<T, D>* high) {
  require(std::isfinite(dt), "dt must be finite, got ", dt);
  require(field.grid() == velocity.grid(), "the field and the velocity must have the same grid");
  require_same_place(field, out, "out");
  if (low) require_same_place(field, *low, "low");
  if (high) require_same_place(field, *high, "high");
  require_finite(velocity);
  require_finite(field, "field");
  velocity.fill_ghosts(time);
  const double k = dt / field.grid().spacing();
  if (options.block == TransportBlock::upwind) {
    const double sum = max_speed_sum(velocity, field.stagger()) * std::abs(k);
    require(sum <= 1.0 + 16.0 * std::numeric_limits<T>::epsilon(), "an upwind pass needs dt * sum |V_d| / h <= 1, here it is ",
            sum);
  }
  field.fill_ghosts(time);
  const double cfl = trace_reach(velocity, max_component_speeds(velocity).with_ghosts, std::abs(k), 0.0, time);
  const auto velocity_far = far_values(velocity, velocity_reach(options, cfl), time);
  FarValues<D> far;
  far.prepare(field.layout(), far_width(cfl, stencil_margin(options.interpolation)), time);
  far.fetch(field.layout(), std::as_const(field).storage().data(), far_reach(cfl, stencil_margin(options.interpolation)));
  const TransportPass<T, D> pass{options, VelocitySource<T, D>(velocity, time, velocity_far.data()), static_cast<T>(k), nullptr};
  const SampleSource<T, D> source{&field.layout(), std::as_const(field).view(), time, &far};
  run_pass(pass, source, [&](const RowRun<D>& run, Index q, const LaneSamples<T>& s) {
    const auto store = [&](Field<T, D>* to, const Lanes<T>& v) {
      if (!to) return;
      T* p = to->view().origin + q;
      for (int l = 0; l < run.count; ++l) p[l] = v[l];
    };
    store(&out, s.value);
    store(low, s.low);
    store(high, s.high);
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                              \
  template AdvectInfo advect<T, D>(Field<T, D>&, MacField<T, D>&, double, const AdvectOptions&, const AdvectMasks&, Workspace&, \
                                   const WallRule<D>&);                                                                         \
  template AdvectInfo advect<T, D>(MacField<T, D>&, MacField<T, D>&, double, const AdvectOptions&,                              \
                                   const std::array<AdvectMasks, D>&, Workspace&, const WallRule<D>&);                          \
  template void first_order_pass<T, D>(Field<T, D>&, MacField<T, D>&, double, const PassOptions&, double, Field<T, D>&,         \
                                       Field<T, D>*, Field<T, D>*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
