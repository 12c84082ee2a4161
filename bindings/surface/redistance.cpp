// Redistancing of level sets, and extension of fields along normals.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/surface/redistancing/extension.hpp"
#include "meniscus/surface/redistancing/redistance.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

void bind_redistance_functions(py::module_& m) {
  def_fields(
      m, "redistance",
      []<class T, int D>(Field<T, D>& phi, const surface::RedistanceOptions& options, const Mask& hidden, const Mask& outside,
                         Workspace& workspace) {
        const Index size = product<D>(phi.extents());
        const surface::SampleMasks masks{mask_of(hidden, "hidden", size), mask_of(outside, "outside", size)};
        return interruptible([&] { return surface::redistance<T, D>(phi, options, masks, workspace); });
      },
      py::arg("phi"), py::arg("options"), py::arg("hidden"), py::arg("outside"), py::arg("workspace"));
  const auto extend = []<class T, int D>(Field<T, D>& field, const Field<T, D>& phi, const py::array& known, double band,
                                         surface::ExtensionSide side, Workspace& workspace) {
    auto* k = mask_of(known, "known", product<D>(field.extents()), true);
    const surface::ExtensionCounts c = interruptible([&] { return surface::extend(field, phi, k, band, side, workspace); });
    return std::pair(c.reached, c.unreached);
  };
  def_fields(m, "extend", extend, py::arg("field"), py::arg("phi"), py::arg("known"), py::arg("band"), py::arg("side"),
             py::arg("workspace"));
  def_fields(
      m, "extend_faces",
      [extend]<class T, int D>(MacField<T, D>& velocity, const Field<T, D>& phi, const std::array<py::array, D>& known,
                               double band, surface::ExtensionSide side, Workspace& workspace) {
        std::pair<Index, Index> counts{0, 0};
        for (int d = 0; d < D; ++d) {
          const auto [reached, unreached] = extend(velocity.component(d), phi, known[d], band, side, workspace);
          counts.first += reached;
          counts.second += unreached;
        }
        return counts;
      },
      py::arg("velocity"), py::arg("phi"), py::arg("known"), py::arg("band"), py::arg("side"), py::arg("workspace"));
}

}  // namespace

void bind_redistance(py::module_& m) {
  py::native_enum<surface::EikonalMethod>(m, "EikonalMethod", "enum.Enum")
      .value("parallel", surface::EikonalMethod::parallel)
      .value("fast_marching", surface::EikonalMethod::fast_marching)
      .finalize();
  py::native_enum<surface::InterfaceDistance>(m, "InterfaceDistance", "enum.Enum")
      .value("closest_point", surface::InterfaceDistance::closest_point)
      .value("axis_crossings", surface::InterfaceDistance::axis_crossings)
      .finalize();
  py::native_enum<surface::AtSides>(m, "AtSides", "enum.Enum")
      .value("ends", surface::AtSides::ends)
      .value("goes_on", surface::AtSides::goes_on)
      .finalize();
  py::native_enum<surface::ExtensionSide>(m, "ExtensionSide", "enum.Enum")
      .value("outside", surface::ExtensionSide::outside)
      .value("both", surface::ExtensionSide::both)
      .finalize();
  py::class_<surface::RedistanceOptions>(m, "RedistanceOptions")
      .def(py::init([](surface::EikonalMethod method, surface::InterfaceDistance interface, double band,
                       surface::AtSides at_sides) { return surface::RedistanceOptions{method, interface, band, at_sides}; }),
           py::arg("method"), py::arg("interface"), py::arg("band"), py::arg("at_sides"));
  bind_redistance_functions(m);
}

}  // namespace meniscus::bindings
