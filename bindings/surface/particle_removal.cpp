// Removal of particles by the value of a level set, and set operations on level sets.
#include "bridge.hpp"

#include "meniscus/surface/markers/particle_removal.hpp"
#include "meniscus/surface/shapes/level_set_algebra.hpp"

namespace meniscus::bindings {
namespace {

template <class T, int D>
void bind_removal_functions(py::module_& m) {
  using F = grid::Field<T, D>;
  using P = grid::ParticleSet;
  m.def(
      "remove_markers_on_wrong_side",
      [](F& phi, P& markers, double reach, std::optional<std::array<double, 2>> radii, double time, Workspace& workspace) {
        std::optional<surface::RadiusBounds> bounds;
        if (radii) bounds = surface::RadiusBounds{(*radii)[0], (*radii)[1]};
        return interruptible([&] { return surface::remove_markers_on_wrong_side(phi, markers, reach, bounds, time, workspace); });
      },
      py::arg("phi"), py::arg("markers"), py::arg("reach"), py::arg("radii"), py::arg("time"), py::arg("workspace"));
  m.def(
      "remove_markers_in",
      [](F& region, P& markers, int sign, Workspace& workspace) {
        return interruptible([&] { return surface::remove_markers_in(region, markers, sign, workspace); });
      },
      py::arg("region"), py::arg("markers"), py::arg("sign"), py::arg("workspace"));
  m.def(
      "remove_spray_in",
      [](F& region, P& spray, Workspace& workspace) {
        const auto i = interruptible([&] { return surface::remove_spray_in(region, spray, workspace); });
        return py::make_tuple(i.count, i.volume);
      },
      py::arg("region"), py::arg("spray"), py::arg("workspace"));
  m.def(
      "remove_outside",
      [](F& region, P& particles, Workspace& workspace) {
        return interruptible([&] { return surface::remove_outside(region, particles, workspace); });
      },
      py::arg("region"), py::arg("particles"), py::arg("workspace"));
  m.def(
      "combine_level_sets",
      [](F& phi, surface::SetOperation operation, const F& other) {
        interruptible([&] { surface::combine_level_sets(phi, operation, other); });
      },
      py::arg("phi"), py::arg("operation"), py::arg("other"));
  m.def(
      "combining_moves_surface",
      [](const F& phi, surface::SetOperation operation, const F& other, double near) {
        return interruptible([&] { return surface::combining_moves_surface(phi, operation, other, near); });
      },
      py::arg("phi"), py::arg("operation"), py::arg("other"), py::arg("near"));
}

}  // namespace

void bind_particle_removal(py::module_& m) {
  py::native_enum<surface::SetOperation>(m, "SetOperation", "enum.Enum")
      .value("unite", surface::SetOperation::unite)
      .value("intersect", surface::SetOperation::intersect)
      .value("subtract", surface::SetOperation::subtract)
      .finalize();
  bind_removal_functions<double, 2>(m);
  bind_removal_functions<float, 3>(m);
  bind_removal_functions<double, 3>(m);
}

}  // namespace meniscus::bindings
