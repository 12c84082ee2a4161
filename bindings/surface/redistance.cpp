#include "bridge.hpp"

#include "meniscus/surface/redistancing/extension.hpp"
#include "meniscus/surface/redistancing/redistance.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

template <class T, int D>
void bind_redistance_functions(py::module_& m) {
  m.def(
      "redistance",
      [](Field<T, D>& phi, const RedistanceOptions& options, const std::optional<py::array>& hidden, Workspace& workspace) {
        const bool* mask = hidden ? data_of<bool>(*hidden, "hidden", product<D>(phi.extents())) : nullptr;
        return interruptible(
            [&] { return redistance<T, D>(phi, options, reinterpret_cast<const std::uint8_t*>(mask), workspace); });
      },
      py::arg("phi"), py::arg("options"), py::arg("hidden"), py::arg("workspace"));
  const auto continue_field = [](Field<T, D>& field, const Field<T, D>& phi, const py::array& known, double band,
                                 ExtensionSide side, Workspace& workspace) {
    auto* k = reinterpret_cast<std::uint8_t*>(data_of<bool>(known, "known", product<D>(field.extents()), true));
    const ExtensionCounts c = interruptible([&] { return extend(field, phi, k, band, side, workspace); });
    return std::pair(c.reached, c.unreached);
  };
  m.def("extend", continue_field, py::arg("field"), py::arg("phi"), py::arg("known"), py::arg("band"), py::arg("side"),
        py::arg("workspace"));
  m.def(
      "extend_component",
      [continue_field](MacField<T, D>& velocity, int axis, const Field<T, D>& phi, const py::array& known, double band,
                       ExtensionSide side, Workspace& workspace) {
        return continue_field(velocity.component(axis), phi, known, band, side, workspace);
      },
      py::arg("velocity"), py::arg("axis"), py::arg("phi"), py::arg("known"), py::arg("band"), py::arg("side"),
      py::arg("workspace"));
}

}  // namespace

void bind_redistance(py::module_& m) {
  py::enum_<EikonalMethod>(m, "EikonalMethod")
      .value("rounds", EikonalMethod::rounds)
      .value("fast_marching", EikonalMethod::fast_marching);
  py::enum_<InterfaceDistance>(m, "InterfaceDistance")
      .value("closest_point", InterfaceDistance::closest_point)
      .value("axis_crossings", InterfaceDistance::axis_crossings);
  py::enum_<ExtensionSide>(m, "ExtensionSide").value("outside", ExtensionSide::outside).value("both", ExtensionSide::both);
  py::class_<RedistanceOptions>(m, "RedistanceOptions")
      .def(py::init([](EikonalMethod method, InterfaceDistance interface, double band) {
             return RedistanceOptions{method, interface, band};
           }),
           py::arg("method"), py::arg("interface"), py::arg("band"));
  bind_redistance_functions<float, 2>(m);
  bind_redistance_functions<float, 3>(m);
  bind_redistance_functions<double, 2>(m);
  bind_redistance_functions<double, 3>(m);
}

}  // namespace meniscus::bindings
