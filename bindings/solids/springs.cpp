// Springs along edges, and their options.
#include "solids/spring_arrays.hpp"

#include "meniscus/solids/springs/edge_springs.hpp"

namespace meniscus::bindings {
void bind_springs(py::module_& m) {
  py::class_<SpringArrays>(m, "SpringOptions")
      .def(py::init<const py::array&, bool, const py::array&, const py::array&, SpringArrays::Pieces>(), py::arg("stiffness"),
           py::arg("per_length"), py::arg("damping"), py::arg("inverse_mass"), py::arg("pieces"))
      .def("__reduce__", [](const py::object& self) {
        const auto& o = self.cast<const SpringArrays&>();
        return py::make_tuple(py::type::of(self), py::make_tuple(copy_of(o.stiffness), o.per_length, copy_of(o.damping),
                                                                 copy_of(o.inverse_mass), o.pieces));
      });
  py::class_<solids::EdgeSprings, solids::Force, std::shared_ptr<solids::EdgeSprings>>(m, "EdgeSprings")
      .def(py::init([](const py::array& ends, const py::array& rest_length, const SpringArrays& options, bool last_direction,
                       const py::array& directions) {
             const auto e = elements_of<2>(ends, "edges");
             return std::make_shared<solids::EdgeSprings>(
                 e, values_of<double>(rest_length, "rest_lengths"), options.options(),
                 last_direction ? solids::AtZeroLength::last_direction : solids::AtZeroLength::none,
                 positions_of(directions, "directions"));
           }),
           py::arg("ends"), py::arg("rest_length"), py::arg("options"), py::arg("last_direction"), py::arg("directions"))
      .def_property_readonly("size", &solids::EdgeSprings::size)
      .def(
          "set",
          [](solids::EdgeSprings& s, const py::array& rest_length, const py::array& stiffness, const py::array& damping) {
            s.set(values_of<double>(rest_length, "rest_lengths"), values_of<double>(stiffness, "stiffness"),
                  values_of<double>(damping, "damping"));
          },
          py::arg("rest_length"), py::arg("stiffness"), py::arg("damping"))
      .def_property_readonly("rest_length", [](const solids::EdgeSprings& s) { return copy_of(s.rest_length()); })
      .def_property_readonly("stiffness", [](const solids::EdgeSprings& s) { return copy_of(s.stiffness()); })
      .def_property_readonly("damping", [](const solids::EdgeSprings& s) { return copy_of(s.damping()); });
  bind_element_springs(m);
  bind_external_forces(m);
}

}  // namespace meniscus::bindings
