// External forces: point loads, drag, wind and pressure.
#include "solids/force_arrays.hpp"

#include "meniscus/solids/surface_forces.hpp"

namespace meniscus::bindings {
namespace {

template <class Class>
void bind_wind(Class& c) {
  using T = typename Class::type;
  c.def(
      "set_wind",
      [](T& self, const py::array& wind, const py::array& velocities) {
        self.wind().set(positions_of(wind, "wind"), positions_of(velocities, "velocities"));
      },
      py::arg("wind"), py::arg("velocities"));
}

}  // namespace

void bind_external_forces(py::module_& m) {
  py::class_<solids::PointLoads, solids::Force, std::shared_ptr<solids::PointLoads>>(m, "PointLoads")
      .def(py::init([](const py::array& nodes, const py::array& loads) {
             const auto n = indices_of(nodes, "nodes");
             return std::make_shared<solids::PointLoads>(n, positions_of(loads, "loads"));
           }),
           py::arg("nodes"), py::arg("loads"))
      .def_property_readonly("loads", [](const py::object& self) {
        const auto loads = self.cast<solids::PointLoads&>().loads();
        return py::array_t<double>({static_cast<py::ssize_t>(loads.size()), py::ssize_t{3}},
                                   reinterpret_cast<const double*>(loads.data()), self);
      });
  py::class_<solids::Drag, solids::Force, std::shared_ptr<solids::Drag>> drag(m, "Drag");
  drag.def(py::init([](const py::array& coefficients, bool quadratic) {
             return std::make_shared<solids::Drag>(values_of<double>(coefficients, "coefficients"), quadratic);
           }),
           py::arg("coefficients"), py::arg("quadratic"));
  bind_wind(drag);
  py::class_<solids::WindDrag, solids::Force, std::shared_ptr<solids::WindDrag>> wind(m, "WindDrag");
  wind.def(py::init([](const py::array& triangles, const py::array& coefficients, bool quadratic) {
             const auto t = triangles_of(triangles);
             return std::make_shared<solids::WindDrag>(t, values_of<double>(coefficients, "coefficients"), quadratic);
           }),
           py::arg("triangles"), py::arg("coefficients"), py::arg("quadratic"));
  bind_wind(wind);
  py::class_<solids::Pressure, solids::Force, std::shared_ptr<solids::Pressure>>(m, "Pressure")
      .def(py::init([](const py::array& triangles, double pressure, bool closed) {
             const auto t = triangles_of(triangles);
             return std::make_shared<solids::Pressure>(t, pressure, closed);
           }),
           py::arg("triangles"), py::arg("pressure"), py::arg("closed"))
      .def_property("pressure", &solids::Pressure::pressure, &solids::Pressure::set_pressure)
      .def(
          "volume",
          [](const solids::Pressure& self, const py::array& x) {
            const auto at = nodes_of(x, "x", self.nodes());
            return interruptible([&] {
              mesh::require_finite(at, "x");
              return self.volume(at);
            });
          },
          py::arg("x"));
}

}  // namespace meniscus::bindings
