// Water beside thin shells.
#include "collision/point_rows.hpp"
#include "masks.hpp"

#include "meniscus/coupling/shell_water/continuation_past_walls.hpp"
#include "meniscus/coupling/shell_water/level_samples.hpp"
#include "meniscus/coupling/shell_water/liquid_particles.hpp"
#include "meniscus/coupling/shell_water/marker_correction.hpp"
#include "meniscus/coupling/shell_water/marker_distances.hpp"
#include "meniscus/coupling/shell_water/marker_motion.hpp"
#include "meniscus/coupling/shell_water/particle_counts.hpp"
#include "meniscus/coupling/shell_water/wall_distances.hpp"
#include "meniscus/coupling/shell_water/wall_extension.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/grid/walls/hidden_corners.hpp"

namespace meniscus::bindings {
namespace {

template <int D>
std::span<const Vec<double, D>> water_rows(const py::array& a, const char* name) {
  static_assert(sizeof(Vec<double, D>) == D * sizeof(double));
  const double* first = data_of<double>(a, name);
  require(a.ndim() == 2 && a.shape(1) == D, name, " must have shape (n, ", D, ")");
  require_finite_values(a, name);
  return {reinterpret_cast<const Vec<double, D>*>(first), static_cast<std::size_t>(a.shape(0))};
}

template <int D>
py::array_t<double> new_water_rows(std::size_t n) {
  return py::array_t<double>({static_cast<py::ssize_t>(n), py::ssize_t{D}});
}

template <int D>
std::span<Vec<double, D>> water_rows(py::array_t<double>& a) {
  return {reinterpret_cast<Vec<double, D>*>(a.mutable_data()), static_cast<std::size_t>(a.shape(0))};
}

template <class T, int D>
void bind_levels(py::module_& m) {
  m.def(
      "sample_level_past_walls",
      [](grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls, const py::array& points, double time) {
        const auto x = water_rows<D>(points, "points");
        py::array_t<double> out(static_cast<py::ssize_t>(x.size()));
        const std::span<double> to(out.mutable_data(), x.size());
        interruptible([&] { coupling::sample_level_past_walls<T, D>(phi, walls, x, time, to); });
        return out;
      },
      py::arg("phi"), py::arg("walls"), py::arg("points"), py::arg("time"));
  m.def(
      "advect_level_past_walls",
      [](grid::Field<T, D>& phi, grid::Field<T, D>& before, grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls,
         double dt, double width, Index reach, grid::Trace trace, double time) {
        return interruptible(
            [&] { return coupling::advect_level_past_walls<T, D>(phi, before, velocity, walls, dt, width, reach, trace, time); });
      },
      py::arg("phi"), py::arg("before"), py::arg("velocity"), py::arg("walls"), py::arg("dt"), py::arg("width"), py::arg("reach"),
      py::arg("trace"), py::arg("time"));
  m.def(
      "advect_faces_past_walls",
      [](grid::MacField<T, D>& velocity, int axis, grid::MacField<T, D>& before, const grid::ThinWalls<D>& walls,
         const py::array& active, double dt, Index reach, grid::Trace trace, double time) {
        const auto* mask = mask_of(active, "active", product<D>(velocity.component(axis).extents()));
        return interruptible(
            [&] { return coupling::advect_faces_past_walls<T, D>(velocity, axis, before, walls, mask, dt, reach, trace, time); });
      },
      py::arg("velocity"), py::arg("axis"), py::arg("before"), py::arg("walls"), py::arg("active"), py::arg("dt"),
      py::arg("reach"), py::arg("trace"), py::arg("time"));
  m.def(
      "redistance_past_walls",
      [](grid::Field<T, D>& phi, const grid::Field<T, D>& before, const grid::ThinWalls<D>& walls, double band,
         const std::optional<py::array>& outside, Workspace& workspace) {
        const auto* mask = mask_of(outside, "outside", product<D>(phi.extents()));
        return interruptible([&] { return coupling::redistance_past_walls<T, D>(phi, before, walls, band, mask, workspace); });
      },
      py::arg("phi"), py::arg("before"), py::arg("walls"), py::arg("band"), py::arg("outside"), py::arg("workspace"));
  m.def(
      "extend_past_walls",
      [](grid::MacField<T, D>& velocity, int axis, const grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls,
         const py::array& source, const py::array& known, Index reach) {
        grid::Field<T, D>& f = velocity.component(axis);
        const Index n = product<D>(f.extents());
        const auto* from = mask_of(source, "source", n);
        auto* mask = mask_of(known, "known", n, true);
        return interruptible([&] { return coupling::extend_past_walls<T, D>(f, axis, phi, walls, from, mask, reach); });
      },
      py::arg("velocity"), py::arg("axis"), py::arg("phi"), py::arg("walls"), py::arg("source"), py::arg("known"),
      py::arg("reach"));
}

template <class T, int D>
void bind_continuation(py::module_& m) {
  m.def(
      "continue_level_past_walls",
      [](grid::Field<T, D>& field, const py::array& known, const grid::ThinWalls<D>& walls, int layers, double unreached) {
        const auto* mask = mask_of(known, "known", product<D>(field.extents()));
        const coupling::Continuation how{layers, true, unreached, coupling::ContinuedFrom::open_faces};
        const auto report = interruptible([&] { return coupling::continue_past_walls<T, D>(field, mask, walls, how); });
        return py::make_tuple(report.samples, report.unreached, report.layers);
      },
      py::arg("field"), py::arg("known"), py::arg("walls"), py::arg("layers"), py::arg("unreached"));
  m.def(
      "continue_faces_past_walls",
      [](grid::MacField<T, D>& velocity, int axis, const py::array& known, const grid::ThinWalls<D>& walls, int layers) {
        grid::Field<T, D>& field = velocity.component(axis);
        const auto* mask = mask_of(known, "known", product<D>(field.extents()));
        const coupling::Continuation how{layers, false, 0.0, coupling::ContinuedFrom::seen};
        interruptible([&] { coupling::continue_past_walls<T, D>(field, mask, walls, how); });
      },
      py::arg("velocity"), py::arg("axis"), py::arg("known"), py::arg("walls"), py::arg("layers"));
}

template <class T, int D>
void bind_markers(py::module_& m) {
  m.def(
      "trace_past_walls",
      [](grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls, const py::array& points, double dt, double time) {
        const auto x = water_rows<D>(points, "points");
        py::array_t<double> out = new_water_rows<D>(x.size());
        const auto to = water_rows<D>(out);
        interruptible([&] { coupling::trace_past_walls<T, D>(velocity, walls, x, dt, time, to); });
        return out;
      },
      py::arg("velocity"), py::arg("walls"), py::arg("points"), py::arg("dt"), py::arg("time"));
  m.def(
      "correct_past_walls",
      [](grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls, const py::array& points, const py::array& levels,
         const py::array& signs, const py::array& radii, double escape_distance) {
        const auto x = water_rows<D>(points, "points");
        const auto n = static_cast<Index>(x.size());
        const std::span<const double> level(data_of<double>(levels, "levels", n), x.size());
        const std::span<const std::int8_t> sign(data_of<std::int8_t>(signs, "signs", n), x.size());
        const std::span<const double> radius(data_of<double>(radii, "radii", n), x.size());
        return interruptible(
            [&] { return coupling::correct_past_walls<T, D>(phi, walls, x, level, sign, radius, escape_distance); });
      },
      py::arg("phi"), py::arg("walls"), py::arg("points"), py::arg("levels"), py::arg("signs"), py::arg("radii"),
      py::arg("escape_distance"));
}

template <class T, int D>
void bind_distances(py::module_& m) {
  using Walls = coupling::ShellWalls<D>;
  m.def(
      "trace_at_distance",
      [](grid::MacField<T, D>& velocity, const Walls& walls, const py::array& points, const py::array& distances, double dt,
         double time) {
        const auto x = water_rows<D>(points, "points");
        const std::span<const double> away(data_of<double>(distances, "distances", static_cast<Index>(x.size())), x.size());
        py::array_t<double> out = new_water_rows<D>(x.size());
        const auto to = water_rows<D>(out);
        interruptible([&] { coupling::trace_at_distance<T, D>(velocity, walls, x, away, dt, time, to); });
        return out;
      },
      py::arg("velocity"), py::arg("walls"), py::arg("points"), py::arg("distances"), py::arg("dt"), py::arg("time"));
}

template <int D>
void bind_pushes(py::module_& m) {
  using Walls = coupling::ShellWalls<D>;
  m.def(
      "push_from_shells",
      [](const Walls& start, const Walls& end, const py::array& begins, const py::array& places, const py::array& distances,
         bool single) {
        const auto x = water_rows<D>(begins, "begins"), place = water_rows<D>(places, "places");
        require(x.size() == place.size(), "places must have ", x.size(), " rows, not ", place.size());
        const std::span<const double> away(data_of<double>(distances, "distances", static_cast<Index>(x.size())), x.size());
        py::array_t<double> out = new_water_rows<D>(x.size());
        py::array_t<std::uint8_t> pushes(static_cast<py::ssize_t>(x.size()));
        const auto to = water_rows<D>(out);
        std::ranges::copy(place, to.begin());
        const std::span<std::uint8_t> told(pushes.mutable_data(), x.size());
        interruptible([&] {
          grid::with_scalar<D>(single, [&]<class T>(T) { coupling::push_from_shells<T, D>(start, end, x, away, to, told); });
        });
        return py::make_tuple(out, pushes);
      },
      py::arg("start"), py::arg("end"), py::arg("begins"), py::arg("places"), py::arg("distances"), py::arg("single"));
}

template <class T, int D>
void bind_liquid_particles(py::module_& m) {
  using M = grid::MacField<T, D>;
  m.def(
      "particles_to_faces_past_walls",
      [](grid::ParticleSet& particles, M& velocity, const grid::ThinWalls<D>& walls, const std::array<py::array, D>& known,
         Workspace& workspace) {
        std::array<std::uint8_t*, D> flags;
        for (int d = 0; d < D; ++d) {
          const auto i = static_cast<std::size_t>(d);
          flags[i] = mask_of(known[i], "known", product<D>(velocity.component(d).extents()), true);
        }
        interruptible([&] { coupling::particles_to_faces_past_walls<T, D>(particles, velocity, walls, flags, workspace); });
      },
      py::arg("particles"), py::arg("velocity"), py::arg("walls"), py::arg("known"), py::arg("workspace"));
  m.def(
      "sample_velocity_past_walls",
      [](M& velocity, const grid::ThinWalls<D>& walls, const py::array& points, double time) {
        const auto x = water_rows<D>(points, "points");
        py::array_t<double> out = new_water_rows<D>(x.size());
        py::array_t<double> gradients({static_cast<py::ssize_t>(x.size()), py::ssize_t{D * D}});
        const auto to = water_rows<D>(out);
        const std::span<double> slopes(gradients.mutable_data(), x.size() * D * D);
        interruptible([&] { coupling::sample_velocity_past_walls<T, D>(velocity, walls, x, time, to, slopes); });
        return py::make_tuple(out, gradients);
      },
      py::arg("velocity"), py::arg("walls"), py::arg("points"), py::arg("time"));
  m.def(
      "update_distances_past_walls",
      [](grid::ParticleSet& particles, grid::Field<T, D>& levelset, M& velocity, const grid::ThinWalls<D>& walls, double dt,
         double time) {
        interruptible([&] { coupling::update_distances_past_walls<T, D>(particles, levelset, velocity, walls, dt, time); });
      },
      py::arg("particles"), py::arg("levelset"), py::arg("velocity"), py::arg("walls"), py::arg("dt"), py::arg("time"));
}

template <class T, int D>
void bind_counts(py::module_& m) {
  m.def(
      "particle_density_past_walls",
      [](grid::ParticleSet& particles, grid::Field<T, D>& density, const grid::ThinWalls<D>& walls, double full,
         Workspace& workspace) {
        interruptible([&] { coupling::particle_density_past_walls<T, D>(particles, density, walls, full, workspace); });
      },
      py::arg("particles"), py::arg("density"), py::arg("walls"), py::arg("full"), py::arg("workspace"));
}

template <int D>
void bind_homes(py::module_& m) {
  m.def(
      "home_cells",
      [](const grid::ThinWalls<D>& walls, const py::array& points) {
        const auto x = water_rows<D>(points, "points");
        py::array_t<Index> out(static_cast<py::ssize_t>(x.size()));
        const std::span<Index> to(out.mutable_data(), x.size());
        interruptible([&] { coupling::home_cells<D>(walls, x, to); });
        return out;
      },
      py::arg("walls"), py::arg("points"));
}

template <int D>
void bind_near_walls(py::module_& m) {
  m.def(
      "mark_near_walls",
      [](const grid::ThinWalls<D>& walls, const py::array& points, Index reach) {
        require(points.ndim() == 2 && points.shape(1) == D, "points must have shape (n, ", D, ")");
        py::array_t<bool> mask(points.shape(0));
        const std::span<std::uint8_t> out(reinterpret_cast<std::uint8_t*>(mask.mutable_data()),
                                          static_cast<std::size_t>(points.shape(0)));
        const bool single = points.dtype().is(py::dtype::of<float>());
        interruptible([&] {
          grid::with_scalar<D>(
              single, [&]<class T>(T) { coupling::mark_near_walls<T, D>(walls, data_of<T>(points, "points"), reach, out); });
        });
        return mask;
      },
      py::arg("walls"), py::arg("points"), py::arg("reach"));
}

template <int D>
void bind_water(py::module_& m) {
  bind_near_walls<D>(m);
  if constexpr (D == 3) bind_levels<float, D>(m);
  bind_levels<double, D>(m);
  if constexpr (D == 3) bind_markers<float, D>(m);
  if constexpr (D == 3) bind_continuation<float, D>(m);
  bind_continuation<double, D>(m);
  bind_markers<double, D>(m);
  if constexpr (D == 3) bind_distances<float, D>(m);
  bind_distances<double, D>(m);
  bind_pushes<D>(m);
  if constexpr (D == 3) bind_liquid_particles<float, D>(m);
  bind_liquid_particles<double, D>(m);
  if constexpr (D == 3) bind_counts<float, D>(m);
  bind_counts<double, D>(m);
  bind_homes<D>(m);
  m.def(
      "stop_at_shells",
      [](const coupling::ShellWalls<D>& start, const coupling::ShellWalls<D>& end, const py::array& begins,
         const py::array& targets, double dt, const py::array& distances) {
        const auto x = water_rows<D>(begins, "begins"), target = water_rows<D>(targets, "targets");
        const std::span<const double> away(data_of<double>(distances, "distances", static_cast<Index>(x.size())), x.size());
        require(x.size() == target.size(), "targets must have ", x.size(), " rows, not ", target.size());
        py::array_t<double> stops = new_water_rows<D>(x.size()), velocities = new_water_rows<D>(x.size());
        py::array_t<std::uint8_t> ends(static_cast<py::ssize_t>(x.size()));
        const auto stop = water_rows<D>(stops), velocity = water_rows<D>(velocities);
        std::ranges::copy(target, stop.begin());
        const std::span<std::uint8_t> end_of(ends.mutable_data(), x.size());
        interruptible([&] { coupling::stop_at_shells<D>(start, end, x, dt, away, stop, velocity, end_of); });
        return py::make_tuple(stops, velocities, ends);
      },
      py::arg("start"), py::arg("end"), py::arg("begins"), py::arg("targets"), py::arg("dt"), py::arg("distances"));
}

}  // namespace

void bind_shell_water(py::module_& m) {
  bind_water<2>(m);
  bind_water<3>(m);
  m.def(
      "fill_hidden_corners",
      [](std::uint32_t hidden, const std::vector<double>& values) {
        std::vector<double> filled = values;
        require(filled.size() == 4 || filled.size() == 8, "values must be those of 4 or 8 corners, not ", filled.size());
        const bool found =
            filled.size() == 4 ? grid::fill_hidden_corners<2>(hidden, filled) : grid::fill_hidden_corners<3>(hidden, filled);
        return py::make_tuple(found, filled);
      },
      py::arg("hidden"), py::arg("values"));
}

}  // namespace meniscus::bindings
