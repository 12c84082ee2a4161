// Removal of particles by the value of a level set, and set operations on level sets.
#include "any_field.hpp"

#include "meniscus/surface/markers/particle_removal.hpp"
#include "meniscus/surface/shapes/level_set_algebra.hpp"

namespace meniscus::bindings {
namespace {

void bind_removal_functions(py::module_& m) {
  def_fields(
      m, "remove_markers_on_wrong_side",
      []<class T, int D>(Field<T, D>& phi, grid::ParticleSet& markers, double reach, std::optional<std::array<double, 2>> radii,
                         double time, Workspace& workspace) {
        std::optional<surface::RadiusBounds> bounds;
        if (radii) bounds = surface::RadiusBounds{(*radii)[0], (*radii)[1]};
        return interruptible([&] { return surface::remove_markers_on_wrong_side(phi, markers, reach, bounds, time, workspace); });
      },
      py::arg("phi"), py::arg("markers"), py::arg("reach"), py::arg("radii"), py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "remove_markers_in",
      []<class T, int D>(Field<T, D>& region, grid::ParticleSet& markers, int sign, Workspace& workspace) {
        return interruptible([&] { return surface::remove_markers_in(region, markers, sign, workspace); });
      },
      py::arg("region"), py::arg("markers"), py::arg("sign"), py::arg("workspace"));
  def_fields(
      m, "remove_spray_in",
      []<class T, int D>(Field<T, D>& region, grid::ParticleSet& spray, Workspace& workspace) {
        const auto i = interruptible([&] { return surface::remove_spray_in(region, spray, workspace); });
        return py::make_tuple(i.count, i.volume);
      },
      py::arg("region"), py::arg("spray"), py::arg("workspace"));
  def_fields(
      m, "remove_outside",
      []<class T, int D>(Field<T, D>& region, grid::ParticleSet& particles, Workspace& workspace) {
        return interruptible([&] { return surface::remove_outside(region, particles, workspace); });
      },
      py::arg("region"), py::arg("particles"), py::arg("workspace"));
  def_fields(
      m, "combine_level_sets",
      []<class T, int D>(Field<T, D>& phi, surface::SetOperation operation, const Field<T, D>& other) {
        interruptible([&] { surface::combine_level_sets(phi, operation, other); });
      },
      py::arg("phi"), py::arg("operation"), py::arg("other"));
  def_fields(
      m, "combining_moves_surface",
      []<class T, int D>(const Field<T, D>& phi, surface::SetOperation operation, const Field<T, D>& other, double near) {
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
  bind_removal_functions(m);
}

}  // namespace meniscus::bindings
