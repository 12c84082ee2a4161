// Watertightness and repair of triangle meshes.
#include "collision/triangle_arrays.hpp"

#include "mesh/mesh_arrays.hpp"

#include "meniscus/mesh/repair/surface_repair.hpp"
#include "meniscus/mesh/topology/triangle_topology.hpp"

namespace meniscus::bindings {
namespace {

py::array_t<std::int32_t> pairs(const std::vector<mesh::TriangleTopology::Edge>& edges) {
  py::array_t<std::int32_t> a({static_cast<py::ssize_t>(edges.size()), py::ssize_t{2}});
  std::copy_n(reinterpret_cast<const std::int32_t*>(edges.data()), 2 * edges.size(), a.mutable_data());
  return a;
}

py::array_t<std::int32_t> indices(const std::vector<std::int32_t>& values) {
  return py::array_t<std::int32_t>(static_cast<py::ssize_t>(values.size()), values.data());
}

}  // namespace

void bind_watertight(py::module_& m) {
  py::class_<mesh::WatertightReport>(m, "WatertightReport")
      .def_property_readonly("watertight", &mesh::WatertightReport::watertight)
      .def_readonly("boundary_edges", &mesh::WatertightReport::boundary_edges)
      .def_property_readonly("holes",
                             [](const mesh::WatertightReport& r) {
                               py::list holes;
                               for (const auto& loop : r.holes) holes.append(indices(loop));
                               return holes;
                             })
      .def_property_readonly("nonmanifold_edges", [](const mesh::WatertightReport& r) { return pairs(r.nonmanifold_edges); })
      .def_property_readonly("flipped_edges", [](const mesh::WatertightReport& r) { return pairs(r.flipped_edges); })
      .def_property_readonly("degenerate", [](const mesh::WatertightReport& r) { return indices(r.degenerate); })
      .def_property_readonly("component", [](const mesh::WatertightReport& r) { return indices(r.component); })
      .def_readonly("components", &mesh::WatertightReport::components);
  m.def(
      "check_watertight",
      [](const py::array& vertices, const py::array& triangles) {
        const auto t = triangles_of(triangles);
        const mesh::TriangleMeshView mesh{positions_of(vertices, "vertices"), t};
        return interruptible([&] {
          require_valid(mesh);
          return mesh::check_watertight(mesh, mesh::TriangleTopology(mesh.triangles));
        });
      },
      py::arg("vertices"), py::arg("triangles"));
  m.def(
      "repaired_surface",
      [](const py::array& vertices, const py::array& triangles, double weld, bool fill, bool orient) {
        const auto t = triangles_of(triangles);
        const mesh::TriangleMeshView mesh{positions_of(vertices, "vertices"), t};
        mesh::SurfaceRepair r = interruptible([&] { return mesh::repaired_surface(mesh, {weld, fill, orient}); });
        py::array_t<double> x({static_cast<py::ssize_t>(r.vertices.size()), py::ssize_t{3}});
        std::copy_n(r.vertices.data()->data(), 3 * r.vertices.size(), x.mutable_data());
        return py::make_tuple(
            x, taken(std::move(r.triangles)), indices(r.source),
            py::dict(py::arg("welded") = r.welded, py::arg("degenerate") = r.degenerate, py::arg("doubled") = r.doubled,
                     py::arg("turned") = r.turned, py::arg("filled") = r.filled, py::arg("added") = r.added,
                     py::arg("one_sided") = r.one_sided, py::arg("crossings") = r.crossings));
      },
      py::arg("vertices"), py::arg("triangles"), py::arg("weld"), py::arg("fill"), py::arg("orient"));
}

}  // namespace meniscus::bindings
