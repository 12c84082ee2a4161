#include "meniscus/coupling/shell_water/level_samples.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/coupling/shell_water/sample_corners.hpp"
#include "meniscus/coupling/shell_water/velocity_past_walls.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <cmath>
#include <limits>

namespace meniscus::coupling {

namespace {

/// What a velocity carries to a point in dt, NaN where the way back ends where nothing is visible.
template <class T, int D>
double carried_past_walls(const grid::VelocitySource<T, D>& flow, const grid::SampleSource<T, D>& source,
                          const grid::ThinWalls<D>& walls, const Vec<double, D>& x, double dt, grid::Trace trace) {
  Vec<double, D> u = velocity_past_walls<T, D>(flow, walls, {x, x});
  if (trace != grid::Trace::euler) u = velocity_past_walls<T, D>(flow, walls, grid::follow<D>(walls, x, x - 0.5 * dt * u));
  return level_past_walls<T, D>(source, walls, grid::follow<D>(walls, x, x - dt * u));
}

}  // namespace

template <class T, int D>
double level_past_walls(const grid::SampleSource<T, D>& phi, const grid::ThinWalls<D>& walls, const grid::OneSidedPlace<D>& at) {
  SampleCorners<D> corners;
  corners.template find<T>(phi, walls.grid(), at.place);
  const int n = static_cast<int>(SampleCorners<D>::count);
  return corners.mean(grid::sees_all_corners(walls, at) ? 0u : walls.hidden(at.eye, corners.place.data(), n, nullptr));
}

template <class T, int D>
void sample_level_past_walls(grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls, std::span<const Vec<double, D>> points,
                             double time, std::span<double> out) {
  require(phi.grid() == walls.grid(), "the walls must have the grid of the level set");
  phi.fill_ghosts(time);
  const grid::SampleSource<T, D> source{&phi.layout(), std::as_const(phi).view(), time};
  parallel_for(0, static_cast<Index>(points.size()), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) out[i] = level_past_walls<T, D>(source, walls, {points[i], points[i]});
  });
}

template <class T, int D>
Index advect_level_past_walls(grid::Field<T, D>& phi, grid::Field<T, D>& before, grid::MacField<T, D>& velocity,
                              const grid::ThinWalls<D>& walls, double dt, double width, Index reach, grid::Trace trace,
                              double time) {
  require(phi.grid() == walls.grid() && before.grid() == walls.grid() && velocity.grid() == walls.grid(),
          "level sets, velocity and walls must have the same grid");
  before.fill_ghosts(time);
  velocity.fill_ghosts(time);
  const grid::SampleSource<T, D> source{&before.layout(), std::as_const(before).view(), time};
  const grid::VelocitySource<T, D> flow(velocity, time);
  const Coord<D> shape = phi.extents(), strides = c_strides<D>(shape);
  const grid::FieldView<T, D> to = phi.view();
  return parallel_reduce(
      0, product<D>(shape), 4096, Index{0},
      [&](Index begin, Index end) {
        Index count = 0;
        for (Index i = begin; i < end; ++i) {
          if (static_cast<Index>(walls.clearance()[i]) > reach) continue;
          const Coord<D> c = surface::index_of<D>(i, strides);
          const T own = *source.view.at(c);
          if (!(std::abs(static_cast<double>(own)) < width)) continue;
          ++count;
          const Vec<double, D> x = grid::sample_position<D>(phi.grid(), phi.stagger(), c);
          *to.at(c) = own;
          if (walls.clearance()[i] == 0 && walls.covers(x)) continue;
          const double value = carried_past_walls<T, D>(flow, source, walls, x, dt, trace);
          if (value == value) *to.at(c) = static_cast<T>(value);
        }
        return count;
      },
      [](Index a, Index b) { return a + b; });
}

template <class T, int D>
Index advect_faces_past_walls(grid::MacField<T, D>& velocity, int axis, grid::MacField<T, D>& before,
                              const grid::ThinWalls<D>& walls, const std::uint8_t* active, double dt, Index reach,
                              grid::Trace trace, double time) {
  require(velocity.grid() == walls.grid() && before.grid() == walls.grid(), "velocities and walls must have the same grid");
  before.fill_ghosts(time);
  const grid::VelocitySource<T, D> flow(before, time);
  const grid::SampleSource<T, D>& source = flow.component[axis];
  grid::Field<T, D>& out = velocity.component(axis);
  const Coord<D> extents = out.extents(), strides = c_strides<D>(extents);
  const grid::FieldView<T, D> to = out.view();
  return parallel_reduce(
      0, product<D>(extents), 4096, Index{0},
      [&](Index begin, Index end) {
        Index count = 0;
        for (Index i = begin; i < end; ++i) {
          if (!active[i]) continue;
          const Coord<D> c = surface::index_of<D>(i, strides);
          if (static_cast<Index>(walls.clearance(out.stagger(), c)) > reach || walls.blocked(axis, c, nullptr)) continue;
          ++count;
          const Vec<double, D> x = grid::sample_position<D>(out.grid(), out.stagger(), c);
          const double value = carried_past_walls<T, D>(flow, source, walls, x, dt, trace);
          *to.at(c) = value == value ? static_cast<T>(value) : *source.view.at(c);
        }
        return count;
      },
      [](Index a, Index b) { return a + b; });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                            \
  template double level_past_walls<T, D>(const grid::SampleSource<T, D>&, const grid::ThinWalls<D>&,                          \
                                         const grid::OneSidedPlace<D>&);                                                      \
  template void sample_level_past_walls<T, D>(grid::Field<T, D>&, const grid::ThinWalls<D>&, std::span<const Vec<double, D>>, \
                                              double, std::span<double>);                                                     \
  template Index advect_level_past_walls<T, D>(grid::Field<T, D>&, grid::Field<T, D>&, grid::MacField<T, D>&,                 \
                                               const grid::ThinWalls<D>&, double, double, Index, grid::Trace, double);        \
  template Index advect_faces_past_walls<T, D>(grid::MacField<T, D>&, int, grid::MacField<T, D>&, const grid::ThinWalls<D>&,  \
                                               const std::uint8_t*, double, Index, grid::Trace, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
