// Signed distance to triangle meshes.
#include "collision/closest_arrays.hpp"

#include "meniscus/surface/shapes/mesh_distance.hpp"

namespace meniscus::bindings {
namespace {

// Queries work on a copy of the value and updates on another, which is put in place once it is complete: both happen with the GIL
// held, so that other Python threads may query while one updates.

template <class T>
void bind_sample(py::class_<surface::MeshDistance>& c) {
  c.def(
      "sample",
      [](const surface::MeshDistance& self, grid::Field<T, 3>& phi, double band) {
        const surface::MeshDistance d = self;
        interruptible([&] { d.sample(phi, band); });
      },
      py::arg("phi"), py::arg("band"));
}

}  // namespace

void bind_mesh_distance(py::module_& m) {
  py::class_<surface::MeshDistance> c(m, "MeshDistance");
  c.def(py::init([](const py::array& vertices, const py::array& triangles) {
          const auto x = positions_of(vertices, "vertices");
          const auto t = triangles_of(triangles);
          return interruptible([&] { return std::make_unique<surface::MeshDistance>(x, t); });
        }),
        py::arg("vertices"), py::arg("triangles"))
      .def(
          "update",
          [](surface::MeshDistance& self, const py::array& vertices) {
            const auto x = positions_of(vertices, "vertices");
            surface::MeshDistance d = self;
            interruptible([&] { d.update(x); });
            self = std::move(d);
          },
          py::arg("vertices"))
      .def_property_readonly("report", [](const surface::MeshDistance& d) { return d.report(); })
      .def(
          "signed_distance",
          [](const surface::MeshDistance& self, const py::array& points) {
            const surface::MeshDistance d = self;
            const auto x = positions_of(points, "points");
            py::array_t<double> result(static_cast<py::ssize_t>(x.size()));
            const std::span<double> out(result.mutable_data(), x.size());
            interruptible([&] {
              mesh::require_measurable(x, "points");
              d.signed_distance(x, out);
            });
            return result;
          },
          py::arg("points"))
      .def(
          "contains",
          [](const surface::MeshDistance& self, const py::array& points) {
            const surface::MeshDistance d = self;
            const auto x = positions_of(points, "points");
            py::array_t<bool> result(static_cast<py::ssize_t>(x.size()));
            const std::span<bool> out(result.mutable_data(), x.size());
            interruptible([&] {
              mesh::require_measurable(x, "points");
              d.contains(x, out);
            });
            return result;
          },
          py::arg("points"))
      .def(
          "closest",
          [](const surface::MeshDistance& self, const py::array& points) {
            const surface::MeshDistance d = self;
            return closest_arrays(points, [&](std::span<const mesh::Point> x, std::span<collision::MeshPoint> out) {
              mesh::require_measurable(x, "points");
              d.closest(x, out);
            });
          },
          py::arg("points"));
  bind_sample<float>(c);
  bind_sample<double>(c);
}

}  // namespace meniscus::bindings
