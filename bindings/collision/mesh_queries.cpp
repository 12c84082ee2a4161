// Closest points and winding numbers of triangle meshes.
#include "collision/closest_arrays.hpp"

#include "meniscus/collision/proximity/winding_number.hpp"

#include <optional>

namespace meniscus::bindings {

void bind_mesh_queries(py::module_& m) {
  m.def(
      "closest_point",
      [](const py::array& vertices, const py::array& triangles, const py::array& points) {
        const auto t = triangles_of(triangles);
        const mesh::TriangleMeshView mesh{positions_of(vertices, "vertices"), t};
        return closest_arrays(points, [&](std::span<const mesh::Point> x, std::span<collision::MeshPoint> out) {
          require_valid(mesh);
          mesh::require_measurable(mesh.vertices, "vertices");
          mesh::require_measurable(x, "points");
          collision::closest_points(mesh::TriangleTree(mesh), x, out);
        });
      },
      py::arg("vertices"), py::arg("triangles"), py::arg("points"));
  m.def(
      "winding_number",
      [](const py::array& vertices, const py::array& triangles, const py::array& points, std::optional<double> accuracy) {
        const auto t = triangles_of(triangles);
        const mesh::TriangleMeshView mesh{positions_of(vertices, "vertices"), t};
        const auto x = positions_of(points, "points");
        py::array_t<double> result(static_cast<py::ssize_t>(x.size()));
        const std::span<double> out(result.mutable_data(), x.size());
        interruptible([&] {
          require_valid(mesh);
          mesh::require_measurable(mesh.vertices, "vertices");
          mesh::require_measurable(x, "points");
          collision::winding_numbers(mesh::TriangleTree(mesh), x, accuracy, out);
        });
        return result;
      },
      py::arg("vertices"), py::arg("triangles"), py::arg("points"), py::arg("accuracy"));
  m.attr("DEFAULT_ACCURACY") = collision::WindingTree::default_accuracy;
}

}  // namespace meniscus::bindings
