#include "meniscus/surface/markers/particle_advance.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"
#include "meniscus/surface/markers/particle_probe.hpp"

#include <optional>

namespace meniscus::surface {
namespace {

enum class Fate : std::uint8_t { stays, pushed, in_solid, left };

template <class T, int D>
Fate settle(const grid::Grid<D>& grid, const std::array<bool, 2 * D>& wall, const LevelSetProbe<double, D>* solid, T* x) {
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    if (grid.periodic()[axis]) continue;
    const auto low = static_cast<T>(grid.origin()[d]);
    const auto high = static_cast<T>(grid.origin()[d] + grid.spacing() * static_cast<double>(grid.shape()[axis]));
    if (x[d] >= low && x[d] <= high) continue;
    if (!wall[2 * axis + (x[d] > high ? 1 : 0)]) return Fate::left;
    x[d] = std::clamp(x[d], low, high);
  }
  if (!solid) return Fate::stays;
  Vec<double, D> position = Eigen::Map<const Vec<T, D>>(x).template cast<double>();
  if (solid->value(position) > 0.0) return Fate::stays;
  if (!push_out_of_solid(*solid, position)) return Fate::in_solid;
  Eigen::Map<Vec<T, D>> rounded(x);
  rounded = position.template cast<T>();
  // Rounding must not bring it back in.
  return solid->value(rounded.template cast<double>()) > 0.0 ? Fate::pushed : Fate::in_solid;
}

}  // namespace

template <class T, int D>
Index advect_band(grid::Field<T, D>& phi, grid::MacField<T, D>& velocity, double dt, double width, grid::Trace trace,
                  grid::Interpolation interpolation, double time, Workspace& workspace) {
  require(phi.grid() == velocity.grid(), "the level set and the velocity must have the same grid");
  require(std::isfinite(dt) && dt > 0, "dt must be positive and finite, got ", dt);
  require(width > 0, "width must be positive, got ", width);
  require_finite(phi, "the level set");
  const Coord<D> extents = phi.extents();
  const grid::FieldView<T, D> view = phi.view();
  const auto bound = static_cast<T>(width);
  const auto band = list_indices(
      product<D>(extents),
      [&, strides = c_strides<D>(extents)](Index begin, Index end, auto&& take) {
        for (Index i = begin; i < end;) {
          Coord<D> c = index_of<D>(i, strides);
          const T* row = view.at(c);
          const Index count = std::min(end - i, extents[D - 1] - c[D - 1]);
          for (Index l = 0; l < count; ++l)
            if (std::abs(row[l]) < bound) take(i + l);
          i += count;
        }
      },
      workspace);
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
  return band.size;
}

template <class T, int D>
MarkerAdvanceInfo advance_markers(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt, grid::Trace trace,
                                  grid::Field<double, D>* solid, double pushed_radius, double time, Workspace& workspace) {
  T* position = detail::typed_positions<T, D>(particles);
  T* const radius = pushed_radius > 0.0 ? detail::typed_column<T>(particles.column("radius"), 1) : nullptr;
  const grid::Grid<D>& grid = velocity.grid();
  require(!solid || solid->grid() == grid, "the level set of the solid must be on the grid of the velocity");
  const Index n = particles.size();
  const auto moved = workspace.take<T>(n * D);
  const auto fates = workspace.take<Fate>(n);
  std::copy_n(position, n * D, moved.data());
  grid::advance_points(velocity, moved.data(), n, dt, trace, grid::OutsidePoints::keep, time, workspace);

  std::array<bool, 2 * D> wall;
  for (std::size_t s = 0; s < wall.size(); ++s) wall[s] = std::holds_alternative<grid::Wall>(velocity.boundary()[s]);
  std::optional<LevelSetProbe<double, D>> probe;
  if (solid) {
    solid->fill_ghosts(time);
    probe.emplace(*solid);
  }
  parallel_for(0, n, 2048, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) fates.data()[i] = settle(grid, wall, probe ? &*probe : nullptr, moved.data() + i * D);
  });
  const auto removed = workspace.take<std::uint8_t>(n);
  MarkerAdvanceInfo info;
  for (Index i = 0; i < n; ++i) {
    const Fate fate = fates.data()[i];
    info.left += fate == Fate::left;
    info.in_solid += fate == Fate::in_solid;
    info.pushed += fate == Fate::pushed;
    removed.data()[i] = fate == Fate::left || fate == Fate::in_solid;
  }
  const NoInterrupts commit;
  std::copy_n(moved.data(), n * D, position);
  if (radius && info.pushed > 0)
    for (Index i = 0; i < n; ++i)
      if (fates.data()[i] == Fate::pushed) radius[i] = std::min(radius[i], static_cast<T>(pushed_radius));
  if (info.left + info.in_solid > 0) particles.remove(removed.data(), workspace);
  return info;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                              \
  template Index advect_band<T, D>(grid::Field<T, D>&, grid::MacField<T, D>&, double, double, grid::Trace, grid::Interpolation, \
                                   double, Workspace&);                                                                         \
  template MarkerAdvanceInfo advance_markers<T, D>(grid::ParticleSet&, grid::MacField<T, D>&, double, grid::Trace,              \
                                                   grid::Field<double, D>*, double, double, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
