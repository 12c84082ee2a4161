// Topology and measures of meshes.
#include "mesh/mesh_arrays.hpp"

#include "meniscus/mesh/intersection/embedded_mesh.hpp"
#include "meniscus/mesh/quality/element_measure.hpp"
#include "meniscus/mesh/topology/edge_graph.hpp"
#include "meniscus/mesh/topology/surface_edges.hpp"
#include "meniscus/mesh/topology/tet_topology.hpp"

namespace meniscus::bindings {
namespace {

/// Edges, one-rings and the edges of each element.
struct GraphOfElements {
  mesh::EdgeGraph graph;
  std::vector<std::int32_t> element_edges;
};

template <std::size_t N>
std::unique_ptr<GraphOfElements> graph_of(const py::array& elements, Index vertices) {
  const auto e = elements_of<N>(elements, "elements");
  return interruptible([&] {
    auto made = std::make_unique<GraphOfElements>(GraphOfElements{mesh::EdgeGraph(mesh::VertexStars<N>(e, vertices)), {}});
    made->element_edges.resize(N * (N - 1) / 2 * e.size());
    mesh::find_element_edges<N>(e, made->graph, made->element_edges);
    return made;
  });
}

void bind_edges(py::module_& m) {
  py::class_<GraphOfElements>(m, "EdgeGraph")
      .def(py::init([](const py::array& elements, Index vertices) {
             return with_corners(elements, [&](auto n) { return graph_of<n>(elements, vertices); });
           }),
           py::arg("elements"), py::arg("vertices"))
      .def_property_readonly(
          "edges", [](const py::object& self) { return read_only(self.cast<const GraphOfElements&>().graph.edges(), self); })
      .def_property_readonly(
          "starts",
          [](const py::object& self) { return read_only(self.cast<const GraphOfElements&>().graph.ring_starts(), self); })
      .def_property_readonly(
          "rings", [](const py::object& self) { return read_only(self.cast<const GraphOfElements&>().graph.rings(), self); })
      .def_property_readonly("element_edges", [](const py::object& self) {
        return read_only(std::span<const std::int32_t>(self.cast<const GraphOfElements&>().element_edges), self);
      });
}

void bind_tet_topology(py::module_& m) {
  const auto property = [](auto get) {
    return [get](const py::object& self) { return read_only((self.cast<const mesh::TetTopology&>().*get)(), self); };
  };
  py::class_<mesh::TetTopology>(m, "TetTopology")
      .def(py::init([](const py::array& tets, Index vertices) {
             const auto t = elements_of<4>(tets, "tets");
             return interruptible([&] { return std::make_unique<mesh::TetTopology>(mesh::VertexStars<4>(t, vertices)); });
           }),
           py::arg("tets"), py::arg("vertices"))
      .def_property_readonly("faces", property(&mesh::TetTopology::faces))
      .def_property_readonly("face_tets", property(&mesh::TetTopology::face_tets))
      .def_property_readonly("faces_of", property(&mesh::TetTopology::faces_of))
      .def_property_readonly("neighbours", property(&mesh::TetTopology::neighbours))
      .def_property_readonly("boundary", property(&mesh::TetTopology::boundary))
      .def(
          "flipped_faces",
          [](const mesh::TetTopology& self, const py::array& tets) {
            const auto t = elements_of<4>(tets, "tets");
            return taken(self.flipped_faces(t));
          },
          py::arg("tets"))
      .def(
          "is_embedded",
          [](const mesh::TetTopology& self, const py::array& positions, const py::array& tets) {
            const auto t = elements_of<4>(tets, "tets");
            const mesh::TetMeshView mesh{positions_of(positions, "positions"), t};
            return interruptible([&] { return mesh::is_embedded(mesh, self); });
          },
          py::arg("positions"), py::arg("tets"))
      .def("components", [](const mesh::TetTopology& self) {
        std::vector<std::int32_t> component(self.neighbours().size());
        const std::int32_t count = mesh::tet_components(self, component);
        return py::make_tuple(count, taken(std::move(component)));
      });
}

void bind_triangle_topology(py::module_& m) {
  py::class_<mesh::TriangleTopology>(m, "TriangleTopology")
      .def(py::init([](const py::array& triangles) {
             const auto t = triangles_of(triangles);
             return interruptible([&] { return std::make_unique<mesh::TriangleTopology>(t); });
           }),
           py::arg("triangles"))
      .def_property_readonly(
          "edges", [](const py::object& self) { return read_only(self.cast<const mesh::TriangleTopology&>().edges(), self); })
      .def("crowded_edges", [](const mesh::TriangleTopology& self) { return taken(self.crowded_edges()); })
      .def(
          "neighbours",
          [](const mesh::TriangleTopology& self, const py::array& triangles) {
            const auto t = triangles_of(triangles);
            std::vector<mesh::Triangle> found(t.size());
            interruptible([&] { mesh::find_triangle_neighbours(t, self, found); });
            return taken(std::move(found));
          },
          py::arg("triangles"))
      .def(
          "boundary",
          [](const mesh::TriangleTopology& self, const py::array& triangles) {
            const auto t = triangles_of(triangles);
            return taken(interruptible([&] { return mesh::boundary_segments(t, self); }));
          },
          py::arg("triangles"))
      .def(
          "hinges",
          [](const mesh::TriangleTopology& self, const py::array& triangles) {
            const auto t = triangles_of(triangles);
            return taken(interruptible([&] { return mesh::hinges(t, self); }));
          },
          py::arg("triangles"))
      .def(
          "pinched_vertices",
          [](const mesh::TriangleTopology& self, const py::array& triangles, Index vertices) {
            const auto t = triangles_of(triangles);
            return taken(interruptible([&] { return mesh::pinched_vertices(t, self, vertices); }));
          },
          py::arg("triangles"), py::arg("vertices"))
      .def(
          "components",
          [](const mesh::TriangleTopology& self, Index triangles) {
            std::vector<std::int32_t> component(static_cast<std::size_t>(triangles));
            const std::int32_t count = mesh::triangle_components(self, component);
            return py::make_tuple(count, taken(std::move(component)));
          },
          py::arg("triangles"));
}

}  // namespace

void bind_mesh_topology(py::module_& m) {
  bind_edges(m);
  bind_tet_topology(m);
  bind_triangle_topology(m);
  bind_derived_meshes(m);
  bind_clipping(m);
  bind_voronoi(m);
  m.def(
      "require_valid_elements",
      [](const py::array& elements, Index vertices) {
        with_corners(elements, [&](auto n) {
          const auto e = elements_of<n>(elements, "elements");
          const std::span<const std::array<std::int32_t, n>> rows = e;
          interruptible([&] { mesh::require_valid_elements(rows, vertices); });
        });
      },
      py::arg("elements"), py::arg("vertices"));
  m.def(
      "measure_elements",
      [](const py::array& positions, const py::array& elements, const py::array& out) {
        const auto x = positions_of(positions, "positions");
        double* const first = data_of<double>(out, "out", elements.shape(0), true);
        with_corners(elements, [&](auto n) {
          const auto e = elements_of<n>(elements, "elements");
          interruptible([&] { mesh::measure_elements<n>(x, e, std::span<double>(first, e.size())); });
        });
      },
      py::arg("positions"), py::arg("elements"), py::arg("out"));
  m.def(
      "sum_of",
      [](const py::array& values) {
        const double* const first = data_of<double>(values, "values");
        return mesh::sum_of(std::span<const double>(first, static_cast<std::size_t>(values.size())));
      },
      py::arg("values"));
  m.def(
      "enclosed_volume",
      [](const py::array& positions, const py::array& triangles) {
        const auto t = triangles_of(triangles);
        const mesh::TriangleMeshView mesh{positions_of(positions, "positions"), t};
        return interruptible([&] { return mesh::enclosed_volume(mesh); });
      },
      py::arg("positions"), py::arg("triangles"));
  m.def(
      "lump_masses",
      [](const py::array& elements, const py::array& masses, const py::array& out) {
        const double* const mass = data_of<double>(masses, "masses", elements.shape(0));
        double* const first = data_of<double>(out, "out", -1, true);
        with_corners(elements, [&](auto n) {
          const auto e = elements_of<n>(elements, "elements");
          interruptible([&] {
            mesh::lump_masses<n>(mesh::VertexStars<n>(e, out.size()), std::span<const double>(mass, e.size()),
                                 std::span<double>(first, static_cast<std::size_t>(out.size())));
          });
        });
      },
      py::arg("elements"), py::arg("masses"), py::arg("out"));
  m.def(
      "segment_components",
      [](const py::array& segments, Index vertices) {
        const auto s = elements_of<2>(segments, "segments");
        std::vector<std::int32_t> component(s.size());
        const auto count = interruptible([&] { return mesh::label_segment_components(s, vertices, component); });
        return py::make_tuple(count, taken(std::move(component)));
      },
      py::arg("segments"), py::arg("vertices"));
}

}  // namespace meniscus::bindings
