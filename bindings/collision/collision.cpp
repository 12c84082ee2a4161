#include "collision/closest_arrays.hpp"

#include "meniscus/collision/proximity/winding_number.hpp"
#include "meniscus/core/parallel.hpp"

#include <optional>

namespace meniscus::bindings {

void bind_collision(py::module_& m) {
  m.def(
      "closest_point",
      [](const py::array& vertices, const py::array& triangles, const py::array& points) {
        const mesh::TriangleMeshView mesh{positions_of(vertices, "vertices"), triangles_of(triangles)};
        return closest_arrays(points, [&](std::span<const mesh::Point> x, std::span<collision::MeshPoint> out) {
          require_valid(mesh);
          mesh::require_finite(x, "points");
          collision::closest_points(mesh::TriangleTree(mesh), x, out);
        });
      },
      py::arg("vertices"), py::arg("triangles"), py::arg("points"));
  m.def(
      "winding_number",
      [](const py::array& vertices, const py::array& triangles, const py::array& points, std::optional<double> accuracy) {
        const mesh::TriangleMeshView mesh{positions_of(vertices, "vertices"), triangles_of(triangles)};
        const auto x = positions_of(points, "points");
        py::array_t<double> result(static_cast<py::ssize_t>(x.size()));
        double* const out = result.mutable_data();
        interruptible([&] {
          require_valid(mesh);
          mesh::require_finite(x, "points");
          const mesh::TriangleTree tree(mesh);
          const collision::WindingTree winding(tree);
          parallel_for(0, static_cast<Index>(x.size()), 64, [&](Index b, Index e) {
            for (auto i = static_cast<std::size_t>(b); i < static_cast<std::size_t>(e); ++i)
              out[i] = accuracy ? winding(tree, x[i], *accuracy) : winding.exact(tree, x[i]);
          });
        });
        return result;
      },
      py::arg("vertices"), py::arg("triangles"), py::arg("points"), py::arg("accuracy"));
  m.attr("DEFAULT_ACCURACY") = collision::WindingTree::default_accuracy;
}

}  // namespace meniscus::bindings
