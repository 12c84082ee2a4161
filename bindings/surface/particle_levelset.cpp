// Particle level sets.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/surface/markers/escaped_markers.hpp"
#include "meniscus/surface/markers/particle_ballistics.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_levelset_step.hpp"
#include "meniscus/surface/markers/particle_seeding.hpp"
#include "meniscus/surface/markers/particle_spray.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

std::array<Index, 3> as_array(const grid::FateCounts& i) { return {i.left, i.in_solid, i.pushed}; }
std::array<Index, 2> as_array(const surface::Correction& i) { return {i.outside, i.inside}; }
std::pair<Index, std::array<Index, 3>> as_tuple(const surface::AdvectedLevelSet& i) { return {i.samples, as_array(i.markers)}; }
std::tuple<Index, double, Index, double> as_tuple(const surface::Removal& i) {
  return {i.inside.count, i.inside.volume, i.outside.count, i.outside.volume};
}

/// Stages return plain tuples: counts and volumes, in the order of the fields of the structs.
void bind_marker_functions(py::module_& m) {
  def_fields(
      m, "advect_particle_level_set",
      []<class T, int D>(Field<T, D>& phi, grid::ParticleSet& markers, grid::ParticleSet& spray, grid::ParticleSet& bubbles,
                         MacField<T, D>& velocity, double dt, const surface::LevelSetTransport& transport,
                         grid::SolidBoundary<T, D>* solid, double time, Workspace& workspace) {
        return as_tuple(interruptible([&] {
          return surface::advect_particle_level_set<T, D>(phi, {markers, spray, bubbles}, velocity, dt, transport, solid, time,
                                                          workspace);
        }));
      },
      py::arg("phi"), py::arg("markers"), py::arg("spray"), py::arg("bubbles"), py::arg("velocity"), py::arg("dt"),
      py::arg("transport"), py::arg("solid"), py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "advance_particle_level_set",
      []<class T, int D>(Field<T, D>& phi, grid::ParticleSet& markers, grid::ParticleSet& spray, grid::ParticleSet& bubbles,
                         MacField<T, D>& velocity, double dt, const surface::LevelSetStep& step, grid::SolidBoundary<T, D>* solid,
                         const std::optional<py::array>& outside, double time, Workspace& workspace) {
        const auto* mask = mask_of(outside, "outside", product<D>(phi.extents()));
        const surface::LevelSetStepInfo i = interruptible([&] {
          return surface::advance_particle_level_set<T, D>(phi, {markers, spray, bubbles}, velocity, dt, step, solid, mask, time,
                                                           workspace);
        });
        return py::make_tuple(as_tuple(i.advected), std::pair(as_array(i.corrections[0]), as_array(i.corrections[1])),
                              as_tuple(i.removal));
      },
      py::arg("phi"), py::arg("markers"), py::arg("spray"), py::arg("bubbles"), py::arg("velocity"), py::arg("dt"),
      py::arg("step"), py::arg("solid"), py::arg("outside"), py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "advance_markers",
      []<class T, int D>(grid::ParticleSet& particles, MacField<T, D>& velocity, double dt, grid::Trace trace,
                         grid::SolidBoundary<T, D>* solid, double pushed_radius, double time, Workspace& workspace) {
        return as_array(interruptible(
            [&] { return surface::advance_markers(particles, velocity, dt, trace, solid, pushed_radius, time, workspace); }));
      },
      py::arg("particles"), py::arg("velocity"), py::arg("dt"), py::arg("trace"), py::arg("solid"), py::arg("pushed_radius"),
      py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "correct_by_particles",
      []<class T, int D>(Field<T, D>& phi, grid::ParticleSet& particles, double escape_distance, double time,
                         Workspace& workspace) {
        return as_array(
            interruptible([&] { return surface::correct_by_particles(phi, particles, escape_distance, time, workspace); }));
      },
      py::arg("phi"), py::arg("particles"), py::arg("escape_distance"), py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "adjust_radii",
      []<class T, int D>(Field<T, D>& phi, grid::ParticleSet& particles, const std::array<double, 2>& bounds,
                         surface::RadiusOf which, double time, Workspace& workspace) {
        interruptible(
            [&] { surface::adjust_radii(phi, particles, surface::RadiusBounds{bounds[0], bounds[1]}, which, time, workspace); });
      },
      py::arg("phi"), py::arg("particles"), py::arg("bounds"), py::arg("which"), py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "seed_particles",
      []<class T, int D>(Field<T, D>& phi, grid::ParticleSet& particles, grid::SolidBoundary<T, D>* solid,
                         const surface::SeedingOptions& options, double time, Workspace& workspace) {
        const surface::Seeding i =
            interruptible([&] { return surface::seed_particles(phi, particles, solid, options, time, workspace); });
        return std::array<Index, 4>{i.added, i.surplus, i.out_of_band, i.failed};
      },
      py::arg("phi"), py::arg("particles"), py::arg("solid"), py::arg("options"), py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "remove_escaped",
      []<class T, int D>(Field<T, D>& phi, grid::ParticleSet& markers, const surface::EscapeRules& rules,
                         MacField<T, D>& velocity, std::optional<grid::ParticleSet*> spray,
                         std::optional<grid::ParticleSet*> bubbles, double time, Workspace& workspace) {
        return as_tuple(interruptible([&] {
          return surface::remove_escaped(phi, markers, rules, velocity, spray.value_or(nullptr), bubbles.value_or(nullptr), time,
                                         workspace);
        }));
      },
      py::arg("phi"), py::arg("markers"), py::arg("rules"), py::arg("velocity"), py::arg("spray"), py::arg("bubbles"),
      py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "reincorporate",
      []<class T, int D>(Field<T, D>& phi, grid::ParticleSet& removed, int sign, grid::ParticleSet& markers, double fraction,
                         const std::array<double, 2>& bounds, MacField<T, D>* velocity, double scale, surface::Deposit deposit,
                         double time, Workspace& workspace) {
        const surface::Reincorporation i = interruptible([&] {
          return surface::reincorporate(phi, removed, sign, markers, fraction, surface::RadiusBounds{bounds[0], bounds[1]},
                                        velocity, scale, deposit, time, workspace);
        });
        return py::make_tuple(i.count, i.volume, i.momentum);
      },
      py::arg("phi"), py::arg("removed"), py::arg("sign"), py::arg("markers"), py::arg("fraction"), py::arg("bounds"),
      py::arg("velocity"), py::arg("scale"), py::arg("deposit"), py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "advance_spray",
      []<class T, int D>(const grid::Grid<D>& grid, grid::ParticleSet& particles, double dt, const std::array<double, D>& gravity,
                         double drag, double restitution, const std::array<bool, 2 * D>& open, grid::SolidBoundary<T, D>* solid,
                         ScalarType<T>, double time, Workspace& workspace) {
        surface::FlightOptions<D> options;
        for (int d = 0; d < D; ++d) options.gravity[d] = gravity[d];
        options.drag = drag;
        options.restitution = restitution;
        options.open = open;
        const surface::SprayFlight i =
            interruptible([&] { return surface::advance_spray<T, D>(grid, particles, dt, options, solid, time, workspace); });
        return py::make_tuple(i.left, i.left_volume, i.in_solid, i.in_solid_volume, i.hits);
      },
      py::arg("grid"), py::arg("particles"), py::arg("dt"), py::arg("gravity"), py::arg("drag"), py::arg("restitution"),
      py::arg("open"), py::arg("solid"), py::arg("dtype"), py::arg("time"), py::arg("workspace"));
  def_dimensions(
      m, "total_volume",
      []<int D>(const grid::Grid<D>& grid, const py::array& radius) {
        const Index n = radius.size();
        parallel::Communicator& communicator = *grid.communicator();
        return grid::with_scalar<D>(radius.dtype().is(py::dtype::of<float>()), [&]<class T>(T) {
          const T* r = data_of<T>(radius, "radius");
          return interruptible([&] { return surface::total_volume<T, D>(communicator, r, n); });
        });
      },
      py::arg("grid"), py::arg("radius"));
  def_dimensions(
      m, "spray_volume",
      []<int D>(const grid::Grid<D>& grid, grid::ParticleSet& spray) {
        return grid::with_scalar<D>(spray, [&]<class T>(T) {
          const T* radius = grid::particle_values<T>(spray, "radius", 1);
          return interruptible([&] { return surface::total_volume<T, D>(*grid.communicator(), radius, spray.size()); });
        });
      },
      py::arg("grid"), py::arg("spray"));
}

}  // namespace

void bind_particle_levelset(py::module_& m) {
  py::native_enum<surface::Deposit>(m, "Deposit", "enum.Enum")
      .value("momentum", surface::Deposit::momentum)
      .value("mean", surface::Deposit::mean)
      .value("liquid", surface::Deposit::liquid)
      .finalize();
  py::native_enum<surface::RadiusOf>(m, "RadiusOf", "enum.Enum")
      .value("every", surface::RadiusOf::every)
      .value("inside", surface::RadiusOf::inside)
      .value("far", surface::RadiusOf::far)
      .finalize();
  py::class_<surface::SeedingOptions>(m, "SeedingOptions")
      .def(py::init([](Index per_cell, double band, const std::array<double, 2>& radii, double escape_distance,
                       bool avoid_escaped, std::uint64_t seed, std::uint32_t step, const std::array<Index, 3>& window_low,
                       const std::array<Index, 3>& lattice_shape) {
             return surface::SeedingOptions{per_cell, band, {radii[0], radii[1]}, escape_distance, avoid_escaped,
                                            seed,     step, window_low,           lattice_shape};
           }),
           py::arg("per_cell"), py::arg("band"), py::arg("radii"), py::arg("escape_distance"), py::arg("avoid_escaped"),
           py::arg("seed"), py::arg("step"), py::arg("window_low"), py::arg("lattice_shape"));
  py::class_<surface::EscapeRules>(m, "EscapeRules")
      .def(py::init([](double distance, bool inside, bool outside, std::optional<double> depth, double removed_radius,
                       std::optional<std::array<double, 2>> far_radii) {
             surface::EscapeRules rules;
             rules.distance = distance;
             rules.inside = inside;
             rules.outside = outside;
             rules.removed_radius = removed_radius;
             if (depth) rules.depth = *depth;
             if (far_radii) rules.far_radii = surface::RadiusBounds{(*far_radii)[0], (*far_radii)[1]};
             return rules;
           }),
           py::arg("distance"), py::arg("inside"), py::arg("outside"), py::arg("depth"), py::arg("removed_radius"),
           py::arg("far_radii"));
  py::class_<surface::LevelSetTransport>(m, "LevelSetTransport")
      .def(py::init([](std::string_view scheme, grid::Trace trace, grid::Interpolation interpolation, grid::Trace marker_trace,
                       double band, const std::optional<std::array<double, 2>>& stretched) {
             surface::LevelSetTransport transport{&grid::advection_scheme(scheme), trace, interpolation, marker_trace, band, {}};
             if (stretched) transport.stretched = surface::RadiusBounds{(*stretched)[0], (*stretched)[1]};
             return transport;
           }),
           py::arg("scheme"), py::arg("trace"), py::arg("interpolation"), py::arg("marker_trace"), py::arg("band"),
           py::arg("stretched"));
  py::class_<surface::LevelSetStep>(m, "LevelSetStep")
      .def(py::init([](const surface::LevelSetTransport& transport, double escape_distance, double reach,
                       const surface::EscapeRules& escape,
                       bool bubbles) { return surface::LevelSetStep{transport, escape_distance, reach, escape, bubbles}; }),
           py::arg("transport"), py::arg("escape_distance"), py::arg("reach"), py::arg("escape"), py::arg("bubbles"));
  bind_marker_functions(m);
}

}  // namespace meniscus::bindings
