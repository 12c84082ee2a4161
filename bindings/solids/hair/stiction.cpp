// Springs between segments of hair that stick together.
#include "solids/hair/strand_arrays.hpp"

#include "meniscus/solids/hair/stiction/stiction.hpp"

namespace meniscus::bindings {

void bind_stiction(py::module_& m) {
  using solids::hair::Stiction;
  using Segment = std::array<std::int32_t, 2>;
  py::class_<Stiction, solids::Force, std::shared_ptr<Stiction>>(m, "Stiction")
      .def(py::init([](const py::array& segments, const py::array& strands, Index nodes, double near, double apart,
                       double rest_length, double stiffness, int most) {
             const auto of = values_of<std::int32_t>(strands, "strands");
             return std::make_shared<Stiction>(rows_of<const Segment>(segments, "segments", std::ssize(of)), of, nodes,
                                               solids::hair::StictionOptions{near, apart, rest_length, stiffness, most});
           }),
           py::arg("segments"), py::arg("strands"), py::arg("nodes"), py::arg("near"), py::arg("apart"), py::arg("rest_length"),
           py::arg("stiffness"), py::arg("most"))
      .def_property_readonly("springs", &Stiction::springs)
      .def(
          "update",
          [](Stiction& s, const py::array& x, bool exclude) {
            const auto at = nodes_of(x, "x", s.nodes());
            interruptible([&] { s.update(at, exclude); });
          },
          py::arg("x"), py::arg("exclude"))
      .def("table", [](const Stiction& s) {
        py::array_t<double> out({static_cast<py::ssize_t>(s.springs()), py::ssize_t{4}});
        auto to = out.mutable_unchecked<2>();
        for (Index i = 0; i < s.springs(); ++i) {
          const auto spring = s.spring(i);
          to(i, 0) = spring.first, to(i, 1) = spring.second, to(i, 2) = spring.part_first, to(i, 3) = spring.part_second;
        }
        return out;
      });
}

}  // namespace meniscus::bindings
