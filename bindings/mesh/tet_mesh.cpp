#include "mesh/mesh_arrays.hpp"

#include "meniscus/mesh/topology/edge_graph.hpp"
#include "meniscus/mesh/quality/element_measure.hpp"
#include "meniscus/mesh/topology/surface_edges.hpp"
#include "meniscus/mesh/topology/tet_topology.hpp"

namespace meniscus::bindings {
namespace {

/// Edges, one-rings and the edges of each element.
struct GraphOfElements {
  EdgeGraph graph;
  std::vector<std::int32_t> element_edges;
};

template <std::size_t N>
std::unique_ptr<GraphOfElements> graph_of(const py::array& elements, Index vertices) {
  const auto e = elements_of<N>(elements, "elements");
  return interruptible([&] {
    auto made = std::make_unique<GraphOfElements>(GraphOfElements{EdgeGraph(VertexStars<N>(e, vertices)), {}});
    made->element_edges.resize(N * (N - 1) / 2 * e.size());
    find_element_edges<N>(e, made->graph, made->element_edges);
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
    return [get](const py::object& self) { return read_only((self.cast<const TetTopology&>().*get)(), self); };
  };
  py::class_<TetTopology>(m, "TetTopology")
      .def(py::init([](const py::array& tets, Index vertices) {
             const auto t = elements_of<4>(tets, "tets");
             return interruptible([&] { return std::make_unique<TetTopology>(VertexStars<4>(t, vertices)); });
           }),
           py::arg("tets"), py::arg("vertices"))
      .def_property_readonly("faces", property(&TetTopology::faces))
      .def_property_readonly("face_tets", property(&TetTopology::face_tets))
      .def_property_readonly("faces_of", property(&TetTopology::faces_of))
      .def_property_readonly("neighbours", property(&TetTopology::neighbours))
      .def_property_readonly("boundary", property(&TetTopology::boundary))
      .def(
          "flipped_faces",
          [](const TetTopology& self, const py::array& tets) { return taken(self.flipped_faces(elements_of<4>(tets, "tets"))); },
          py::arg("tets"))
      .def("components", [](const TetTopology& self) {
        std::vector<std::int32_t> component(self.neighbours().size());
        const std::int32_t count = tet_components(self, component);
        return py::make_tuple(count, taken(std::move(component)));
      });
}

void bind_triangle_topology(py::module_& m) {
  using Edge = TriangleTopology::Edge;
  py::class_<TriangleTopology>(m, "TriangleTopology")
      .def(py::init([](const py::array& triangles) {
             const auto t = triangles_of(triangles);
             return interruptible([&] { return std::make_unique<TriangleTopology>(t); });
           }),
           py::arg("triangles"))
      .def_property_readonly("edges",
                             [](const py::object& self) { return read_only(self.cast<const TriangleTopology&>().edges(), self); })
      .def("crowded_edges",
           [](const TriangleTopology& self) {
             std::vector<Edge> found;
             for (std::size_t e = 0; e < self.edges().size(); ++e)
               if (self.triangles_at(static_cast<Index>(e)).size() > 2) found.push_back(self.edges()[e]);
             return taken(std::move(found));
           })
      .def(
          "neighbours",
          [](const TriangleTopology& self, const py::array& triangles) {
            const auto t = triangles_of(triangles);
            std::vector<Triangle> found(t.size());
            interruptible([&] { find_triangle_neighbours(t, self, found); });
            return taken(std::move(found));
          },
          py::arg("triangles"))
      .def(
          "boundary",
          [](const TriangleTopology& self, const py::array& triangles) {
            const auto t = triangles_of(triangles);
            return taken(interruptible([&] { return boundary_segments(t, self); }));
          },
          py::arg("triangles"))
      .def(
          "bend_pairs",
          [](const TriangleTopology& self, const py::array& triangles) {
            const auto t = triangles_of(triangles);
            return taken(interruptible([&] { return bend_pairs(t, self); }));
          },
          py::arg("triangles"))
      .def(
          "pinched_vertices",
          [](const TriangleTopology& self, const py::array& triangles, Index vertices) {
            const auto t = triangles_of(triangles);
            return taken(interruptible([&] { return pinched_vertices(t, self, vertices); }));
          },
          py::arg("triangles"), py::arg("vertices"))
      .def(
          "components",
          [](const TriangleTopology& self, Index triangles) {
            std::vector<std::int32_t> component(static_cast<std::size_t>(triangles));
            const std::int32_t count = triangle_components(self, component);
            return py::make_tuple(count, taken(std::move(component)));
          },
          py::arg("triangles"));
}

}  // namespace

void bind_tet_mesh(py::module_& m) {
  bind_edges(m);
  bind_tet_topology(m);
  bind_triangle_topology(m);
  bind_mesh_maps(m);
  m.def(
      "require_valid_elements",
      [](const py::array& elements, Index vertices) {
        with_corners(elements, [&](auto n) {
          if constexpr (n == 2)
            require_valid_elements(elements_of<2>(elements, "segments"), vertices);
          else if constexpr (n == 3)
            require_valid_elements(elements_of<3>(elements, "triangles"), vertices);
          else
            require_valid_elements(elements_of<4>(elements, "tets"), vertices);
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
          interruptible([&] { measure_elements<n>(x, e, std::span<double>(first, e.size())); });
        });
      },
      py::arg("positions"), py::arg("elements"), py::arg("out"));
  m.def(
      "sum_of",
      [](const py::array& values) {
        const double* const first = data_of<double>(values, "values");
        return sum_of(std::span<const double>(first, static_cast<std::size_t>(values.size())));
      },
      py::arg("values"));
  m.def(
      "enclosed_volume",
      [](const py::array& positions, const py::array& triangles) {
        const TriangleMeshView mesh{positions_of(positions, "positions"), triangles_of(triangles)};
        return interruptible([&] { return enclosed_volume(mesh); });
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
            lump_masses<n>(VertexStars<n>(e, out.size()), std::span<const double>(mass, e.size()),
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
        std::int32_t count = 0;
        interruptible([&] {
          const VertexStars<2> stars(s, vertices);
          count = label_components(component, [&](auto&& unite) {
            for (Index v = 0; v < vertices; ++v)
              for (const std::int32_t corner : stars.at(v)) unite(stars.at(v)[0] / 2, corner / 2);
          });
        });
        return py::make_tuple(count, taken(std::move(component)));
      },
      py::arg("segments"), py::arg("vertices"));
}

}  // namespace meniscus::bindings
