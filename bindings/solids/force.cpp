// Interface of all forces.
#include "solids/force_arrays.hpp"

namespace meniscus::bindings {

void bind_force(py::module_& m) {
  py::native_enum<solids::Tangent>(m, "Tangent", "enum.Enum")
      .value("exact", solids::Tangent::exact)
      .value("definite", solids::Tangent::definite)
      .value("frozen", solids::Tangent::frozen)
      .finalize();
  py::class_<solids::Force, std::shared_ptr<solids::Force>>(m, "Force")
      .def_property_readonly("nodes", &solids::Force::nodes)
      .def_property_readonly("damped", &solids::Force::damped)
      .def_property_readonly("conservative", &solids::Force::conservative)
      .def_property_readonly("nbytes", &solids::Force::nbytes)
      .def_property_readonly("memory",
                             [](const py::object& self) {
                               const std::span<double> memory = self.cast<solids::Force&>().memory();
                               return py::array_t<double>(static_cast<py::ssize_t>(memory.size()), memory.data(), self);
                             })
      .def(
          "energy",
          [](const solids::Force& self, const py::array& x) {
            const auto at = nodes_of(x, "x", self.nodes());
            return interruptible([&] {
              mesh::require_finite(at, "x");
              return self.energy(at);
            });
          },
          py::arg("x"))
      .def(
          "add_forces",
          [](const solids::Force& self, const py::array& x, const py::array& f) {
            const auto at = nodes_of(x, "x", self.nodes());
            const auto out = writable_nodes_of(f, "f", self.nodes());
            interruptible([&] {
              mesh::require_finite(at, "x");
              self.add_forces(at, out);
            });
          },
          py::arg("x"), py::arg("f"))
      .def(
          "linearise",
          [](solids::Force& self, const py::array& x, solids::Tangent tangent) {
            const auto at = nodes_of(x, "x", self.nodes());
            interruptible([&] {
              mesh::require_finite(at, "x");
              self.linearise(at, tangent);
            });
          },
          py::arg("x"), py::arg("tangent"))
      .def(
          "add_differentials",
          [](const solids::Force& self, const py::array& dx, double scale, const py::array& f) {
            const auto change = nodes_of(dx, "dx", self.nodes());
            const auto out = writable_nodes_of(f, "f", self.nodes());
            interruptible([&] {
              mesh::require_finite(change, "dx");
              self.add_differentials(change, scale, out);
            });
          },
          py::arg("dx"), py::arg("scale"), py::arg("f"))
      .def(
          "add_damping",
          [](const solids::Force& self, const py::array& v, double scale, const py::array& f) {
            const auto velocity = nodes_of(v, "v", self.nodes());
            const auto out = writable_nodes_of(f, "f", self.nodes());
            interruptible([&] {
              mesh::require_finite(velocity, "v");
              self.add_damping(velocity, scale, out);
            });
          },
          py::arg("v"), py::arg("scale"), py::arg("f"))
      .def(
          "add_diagonal",
          [](const solids::Force& self, double stiffness_scale, double damping_scale, const py::array& blocks) {
            // Blocks are symmetric, so that it does not matter that Eigen stores columns.
            double* const first = data_of<double>(blocks, "blocks", -1, true);
            require(blocks.ndim() == 3 && blocks.shape(0) >= self.nodes() && blocks.shape(1) == 3 && blocks.shape(2) == 3,
                    "blocks must have shape (n, 3, 3) with n >= ", self.nodes());
            const std::span<solids::Block3> out{reinterpret_cast<solids::Block3*>(first),
                                                static_cast<std::size_t>(blocks.shape(0))};
            interruptible([&] { self.add_diagonal(stiffness_scale, damping_scale, out); });
          },
          py::arg("stiffness_scale"), py::arg("damping_scale"), py::arg("blocks"))
      .def(
          "add_stiffness_bounds",
          [](const solids::Force& self, const py::array& x, const py::array& stiffness) {
            const auto at = nodes_of(x, "x", self.nodes());
            double* const first = data_of<double>(stiffness, "stiffness", static_cast<Index>(at.size()), true);
            interruptible([&] {
              mesh::require_finite(at, "x");
              self.add_stiffness_bounds(at, {first, at.size()});
            });
          },
          py::arg("x"), py::arg("stiffness"))
      .def(
          "add_damping_bounds",
          [](const solids::Force& self, const py::array& x, const py::array& damping) {
            const auto at = nodes_of(x, "x", self.nodes());
            double* const first = data_of<double>(damping, "damping", static_cast<Index>(at.size()), true);
            interruptible([&] {
              mesh::require_finite(at, "x");
              self.add_damping_bounds(at, {first, at.size()});
            });
          },
          py::arg("x"), py::arg("damping"))
      .def(
          "damping_ratios",
          [](const solids::Force& self, const py::array& x) {
            const auto at = nodes_of(x, "x", self.nodes());
            const auto ratios = interruptible([&] {
              mesh::require_finite(at, "x");
              return self.damping_ratios(at);
            });
            return py::make_tuple(ratios.least, ratios.most);
          },
          py::arg("x"))
      .def(
          "strain_rate",
          [](const solids::Force& self, const py::array& x, const py::array& v) {
            const auto at = nodes_of(x, "x", self.nodes());
            const auto velocity = nodes_of(v, "v", self.nodes());
            require(at.size() == velocity.size(), "x and v must have equally many rows, not ", at.size(), " and ",
                    velocity.size());
            return interruptible([&] {
              mesh::require_finite(at, "x");
              mesh::require_finite(velocity, "v");
              return self.strain_rate(at, velocity);
            });
          },
          py::arg("x"), py::arg("v"));
}

}  // namespace meniscus::bindings
