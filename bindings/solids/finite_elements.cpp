// Finite elements: tetrahedra and membranes.
#include "solids/force_arrays.hpp"

#include "meniscus/solids/elements/quadratic/quadratic_tet_elements.hpp"
#include "meniscus/solids/elements/tet_elements.hpp"
#include "meniscus/solids/elements/triangle_membrane.hpp"

namespace meniscus::bindings {
namespace {

template <class T>
py::array_t<T> copy_of(std::span<const T> values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

/// The matrix of a force that keeps one: blocks, columns, row starts; as copies, since the force fills it again.
template <class Elements>
py::tuple matrix_at(Elements& self, const py::array& x, solids::Tangent tangent) {
  const auto at = nodes_of(x, "x", self.nodes());
  interruptible([&] {
    mesh::require_finite(at, "x");
    self.linearise(at, tangent);
  });
  const solids::BlockStiffness& k = self.matrix();
  const auto count = static_cast<py::ssize_t>(k.blocks().size());
  const py::array_t<double> blocks({count, py::ssize_t{3}, py::ssize_t{3}}, reinterpret_cast<const double*>(k.blocks().data()));
  return py::make_tuple(blocks, copy_of(k.columns()), copy_of(k.row_start()));
}

template <class Elements, class Evaluate>
py::array matrices_at(const Elements& self, const py::array& x, py::ssize_t columns, Evaluate&& evaluate) {
  const auto at = nodes_of(x, "x", self.nodes());
  py::array_t<double> result({static_cast<py::ssize_t>(self.size()), py::ssize_t{3}, columns});
  double* const out = result.mutable_data();
  interruptible([&] {
    mesh::require_finite(at, "x");
    evaluate(at, out);
  });
  return result;
}

std::span<numerics::RowMatrix3> as_matrices(double* first, Index count) {
  return {reinterpret_cast<numerics::RowMatrix3*>(first), static_cast<std::size_t>(count)};
}

void bind_membrane(py::module_& m) {
  using Membrane = solids::TriangleMembrane;
  const auto gradients = [](double* first, Index count) {
    return std::span<Membrane::Gradient>{reinterpret_cast<Membrane::Gradient*>(first), static_cast<std::size_t>(count)};
  };
  py::class_<Membrane, solids::Force, std::shared_ptr<Membrane>>(m, "TriangleMembrane")
      .def(py::init([](const py::array& rest, const py::array& triangles, const py::array& youngs_modulus,
                       const py::array& poissons_ratio, const py::array& density, const py::array& thickness,
                       solids::Material material, double damping, double mass_damping, bool assembled, bool skip_degenerate) {
             const auto x = positions_of(rest, "rest");
             const auto t = triangles_of(triangles);
             const solids::ElementProperties properties{values_of<double>(youngs_modulus, "youngs_modulus"),
                                                        values_of<double>(poissons_ratio, "poissons_ratio"),
                                                        values_of<double>(density, "density")};
             const auto h = values_of<double>(thickness, "thickness");
             return interruptible([&] {
               return std::make_shared<Membrane>(
                   x, t, properties, h, solids::ElementOptions{material, damping, mass_damping, assembled, skip_degenerate});
             });
           }),
           py::arg("rest"), py::arg("triangles"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("density"),
           py::arg("thickness"), py::arg("material"), py::arg("damping"), py::arg("mass_damping"), py::arg("assembled"),
           py::arg("skip_degenerate"))
      .def_property_readonly("size", &Membrane::size)
      .def_property_readonly("skipped", [](const Membrane& self) { return copy_of(self.skipped()); })
      .def_property_readonly("masses", [](const Membrane& self) { return copy_of(self.masses()); })
      .def_property_readonly("areas", [](const Membrane& self) { return copy_of(self.areas()); })
      .def("matrix_at", &matrix_at<Membrane>, py::arg("x"), py::arg("tangent"))
      .def(
          "deformation_gradients",
          [=](const Membrane& self, const py::array& x) {
            return matrices_at(self, x, 2, [&](std::span<const mesh::Point> at, double* out) {
              self.deformation_gradients(at, gradients(out, self.size()));
            });
          },
          py::arg("x"))
      .def(
          "stresses",
          [=](const Membrane& self, const py::array& x) {
            return matrices_at(self, x, 2, [&](std::span<const mesh::Point> at, double* out) {
              self.stresses(at, gradients(out, self.size()));
            });
          },
          py::arg("x"));
}

void bind_quadratic(py::module_& m) {
  using Quadratic = solids::QuadraticTetElements;
  const auto at_points = [](const Quadratic& self, const py::array& x, auto&& evaluate) {
    const auto at = nodes_of(x, "x", self.nodes());
    constexpr Index points = solids::quadratic_tet::points;
    py::array_t<double> result({static_cast<py::ssize_t>(self.size()), py::ssize_t{points}, py::ssize_t{3}, py::ssize_t{3}});
    double* const out = result.mutable_data();
    interruptible([&] {
      mesh::require_finite(at, "x");
      evaluate(at, as_matrices(out, points * self.size()));
    });
    return result;
  };
  py::class_<Quadratic, solids::Force, std::shared_ptr<Quadratic>>(m, "QuadraticTetElements")
      .def(py::init([](const py::array& rest, const py::array& tets, const py::array& youngs_modulus,
                       const py::array& poissons_ratio, const py::array& density, solids::Material material, double damping,
                       double mass_damping, bool assembled, bool skip_degenerate) {
             const auto x = positions_of(rest, "rest");
             const auto t = elements_of<10>(tets, "tets");
             const solids::ElementProperties properties{values_of<double>(youngs_modulus, "youngs_modulus"),
                                                        values_of<double>(poissons_ratio, "poissons_ratio"),
                                                        values_of<double>(density, "density")};
             return interruptible([&] {
               return std::make_shared<Quadratic>(
                   x, t, properties, solids::ElementOptions{material, damping, mass_damping, assembled, skip_degenerate});
             });
           }),
           py::arg("rest"), py::arg("tets"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("density"),
           py::arg("material"), py::arg("damping"), py::arg("mass_damping"), py::arg("assembled"), py::arg("skip_degenerate"))
      .def_property_readonly("size", &Quadratic::size)
      .def_property_readonly("skipped", [](const Quadratic& self) { return copy_of(self.skipped()); })
      .def_property_readonly("masses", [](const Quadratic& self) { return copy_of(self.masses()); })
      .def_property_readonly("volumes", [](const Quadratic& self) { return copy_of(self.volumes()); })
      .def("matrix_at", &matrix_at<Quadratic>, py::arg("x"), py::arg("tangent"))
      .def(
          "deformation_gradients",
          [=](const Quadratic& self, const py::array& x) {
            return at_points(self, x, [&](auto at, auto out) { self.deformation_gradients(at, out); });
          },
          py::arg("x"))
      .def(
          "stresses",
          [=](const Quadratic& self, const py::array& x) {
            return at_points(self, x, [&](auto at, auto out) { self.stresses(at, out); });
          },
          py::arg("x"));
}

}  // namespace

void bind_finite_elements(py::module_& m) {
  py::native_enum<solids::Material>(m, "Material", "enum.Enum")
      .value("linear", solids::Material::linear)
      .value("corotational", solids::Material::corotational)
      .value("st_venant_kirchhoff", solids::Material::st_venant_kirchhoff)
      .value("neo_hookean", solids::Material::neo_hookean)
      .finalize();
  py::class_<solids::TetElements, solids::Force, std::shared_ptr<solids::TetElements>>(m, "TetElements")
      .def(py::init([](const py::array& rest, const py::array& tets, const py::array& youngs_modulus,
                       const py::array& poissons_ratio, const py::array& density, solids::Material material, double damping,
                       double mass_damping, bool assembled, bool skip_degenerate) {
             const auto x = positions_of(rest, "rest");
             const auto t = elements_of<4>(tets, "tets");
             const solids::ElementProperties properties{values_of<double>(youngs_modulus, "youngs_modulus"),
                                                        values_of<double>(poissons_ratio, "poissons_ratio"),
                                                        values_of<double>(density, "density")};
             return interruptible([&] {
               return std::make_shared<solids::TetElements>(
                   x, t, properties, solids::ElementOptions{material, damping, mass_damping, assembled, skip_degenerate});
             });
           }),
           py::arg("rest"), py::arg("tets"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("density"),
           py::arg("material"), py::arg("damping"), py::arg("mass_damping"), py::arg("assembled"), py::arg("skip_degenerate"))
      .def_property_readonly("size", &solids::TetElements::size)
      .def_property_readonly("skipped", [](const solids::TetElements& self) { return copy_of(self.skipped()); })
      .def_property_readonly("masses", [](const solids::TetElements& self) { return copy_of(self.masses()); })
      .def_property_readonly("volumes", [](const solids::TetElements& self) { return copy_of(self.volumes()); })
      .def("matrix_at", &matrix_at<solids::TetElements>, py::arg("x"), py::arg("tangent"))
      .def(
          "deformation_gradients",
          [](const solids::TetElements& self, const py::array& x) {
            return matrices_at(self, x, 3, [&](std::span<const mesh::Point> at, double* out) {
              self.deformation_gradients(at, as_matrices(out, self.size()));
            });
          },
          py::arg("x"))
      .def(
          "stresses",
          [](const solids::TetElements& self, const py::array& x) {
            return matrices_at(self, x, 3, [&](std::span<const mesh::Point> at, double* out) {
              self.stresses(at, as_matrices(out, self.size()));
            });
          },
          py::arg("x"));
  bind_quadratic(m);
  bind_membrane(m);
}

}  // namespace meniscus::bindings
