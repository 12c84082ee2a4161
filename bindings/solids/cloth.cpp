// Bending of plates, and sheets that are remeshed.
#include "solids/force_arrays.hpp"

#include "meniscus/solids/plates/plate_bending.hpp"

namespace meniscus::bindings {
namespace {

using solids::PlateBending;

/// Rows of two coordinates at rest.
std::span<const solids::PlateCurvature::Plane> plane_of(const py::array& a, const char* name) {
  const double* const first = data_of<double>(a, name);
  require(a.ndim() == 2 && a.shape(1) == 2, name, " must have shape (n, 2)");
  return {reinterpret_cast<const solids::PlateCurvature::Plane*>(first), static_cast<std::size_t>(a.shape(0))};
}

std::span<const std::uint8_t> flags_of(const py::array& flags, const char* name) {
  return {reinterpret_cast<const std::uint8_t*>(data_of<bool>(flags, name)), static_cast<std::size_t>(flags.size())};
}

void bind_plates(py::module_& m) {
  py::class_<PlateBending, solids::Force, std::shared_ptr<PlateBending>>(m, "PlateBending")
      .def(py::init([](const py::array& triangles, const py::array& rest, const py::array& hinges, const py::array& rigid,
                       const py::array& stiffness, double damping, double collapsed) {
             const auto t = triangles_of(triangles);
             const auto h = elements_of<4>(hinges, "hinges");
             const auto x = plane_of(rest, "rest");
             const auto held = flags_of(rigid, "rigid");
             const double* const first = data_of<double>(stiffness, "stiffness");
             const std::span<const PlateBending::Stiffness> d{reinterpret_cast<const PlateBending::Stiffness*>(first),
                                                              static_cast<std::size_t>(stiffness.size() / 9)};
             return interruptible(
                 [&] { return std::make_shared<PlateBending>(PlateBending::Parameters{t, x, h, held, d, damping, collapsed}); });
           }),
           py::arg("triangles"), py::arg("rest"), py::arg("hinges"), py::arg("rigid"), py::arg("stiffness"), py::arg("damping"),
           py::arg("collapsed"))
      .def(
          "curvatures",
          [](const PlateBending& self, const py::array& x) {
            const auto at = nodes_of(x, "x", self.nodes());
            py::array_t<double> out({static_cast<py::ssize_t>(self.curvature().triangles()), py::ssize_t{3}});
            const std::span<solids::PlateCurvature::Tensor> rows{
                reinterpret_cast<solids::PlateCurvature::Tensor*>(out.mutable_data()),
                static_cast<std::size_t>(self.curvature().triangles())};
            interruptible([&] {
              mesh::require_finite(at, "x");
              self.curvatures(at, rows);
            });
            return out;
          },
          py::arg("x"));
}

}  // namespace

void bind_cloth(py::module_& m) { bind_plates(m); }

}  // namespace meniscus::bindings
