// Element quality, orderings, Delaunay and refined meshes, embeddings.
#include "mesh/mesh_arrays.hpp"

#include "meniscus/mesh/embedding/embedding.hpp"
#include "meniscus/mesh/quality/element_quality.hpp"
#include "meniscus/mesh/refinement/uniform_subdivision.hpp"
#include "meniscus/mesh/topology/ordering.hpp"
#include "meniscus/mesh/triangulation/delaunay.hpp"

namespace meniscus::bindings {
namespace {

std::span<mesh::Point> points_out(const py::array& a, const char* name) {
  double* const first = data_of<double>(a, name, -1, true);
  require(a.ndim() == 2 && a.shape(1) == 3, name, " must have shape (n, 3)");
  return {reinterpret_cast<mesh::Point*>(first), static_cast<std::size_t>(a.shape(0))};
}

std::span<double> numbers(const py::array& a, const char* name, bool writable) {
  return {data_of<double>(a, name, -1, writable), static_cast<std::size_t>(a.size())};
}

void bind_quality(py::module_& m) {
  m.def(
      "measure_quality",
      [](const py::array& positions, const py::array& elements) {
        const auto x = positions_of(positions, "positions");
        std::vector<mesh::ElementQuality> found(static_cast<std::size_t>(elements.shape(0)));
        if (elements.shape(1) == 4) {
          const auto t = elements_of<4>(elements, "tets");
          interruptible([&] { mesh::measure_quality(mesh::TetMeshView{x, t}, found); });
        } else {
          const auto t = elements_of<3>(elements, "triangles");
          interruptible([&] { mesh::measure_quality(mesh::TriangleMeshView{x, t}, found); });
        }
        static_assert(sizeof(mesh::ElementQuality) == 4 * sizeof(double));
        py::array_t<double> result({static_cast<py::ssize_t>(found.size()), py::ssize_t{4}});
        std::copy_n(reinterpret_cast<const double*>(found.data()), 4 * found.size(), result.mutable_data());
        return result;
      },
      py::arg("positions"), py::arg("elements"));
  m.def(
      "find_degenerate",
      [](const py::array& positions, const py::array& tets, const py::array& rest_volumes, double min_volume, double min_aspect,
         const py::array& out) {
        const auto t = elements_of<4>(tets, "tets");
        const mesh::TetMeshView mesh{positions_of(positions, "positions"), t};
        const double* const rest = data_of<double>(rest_volumes, "rest_volumes", mesh.size());
        bool* const first = data_of<bool>(out, "out", mesh.size(), true);
        return interruptible([&] {
          return mesh::find_degenerate(mesh, {rest, mesh.tets.size()}, min_volume, min_aspect, {first, mesh.tets.size()});
        });
      },
      py::arg("positions"), py::arg("tets"), py::arg("rest_volumes"), py::arg("min_volume"), py::arg("min_aspect"),
      py::arg("out"));
}

void bind_delaunay(py::module_& m) {
  m.def(
      "delaunay",
      [](const py::array& points) {
        const auto x = positions_of(points, "points");
        return taken(interruptible([&] { return mesh::delaunay(x); }));
      },
      py::arg("points"));
}

void bind_orders(py::module_& m) {
  m.def(
      "morton_order",
      [](const py::array& points) {
        const auto x = positions_of(points, "points");
        return taken(interruptible([&] { return mesh::morton_order(x); }));
      },
      py::arg("points"));
  m.def(
      "reverse_cuthill_mckee",
      [](const py::array& elements, Index vertices) {
        return with_corners(elements, [&](auto n) {
          const auto e = elements_of<n>(elements, "elements");
          return taken(
              interruptible([&] { return mesh::reverse_cuthill_mckee(mesh::EdgeGraph(mesh::VertexStars<n>(e, vertices))); }));
        });
      },
      py::arg("elements"), py::arg("vertices"));
  m.def(
      "element_order",
      [](const py::array& elements, const py::array& number) {
        const auto numbers = indices_of(number, "number");
        return with_corners(elements, [&](auto n) {
          const auto e = elements_of<n>(elements, "elements");
          return taken(interruptible([&] { return mesh::element_order<n>(e, numbers); }));
        });
      },
      py::arg("elements"), py::arg("number"));
}

template <std::size_t N>
void bind_subdivision(py::module_& m, const char* name) {
  using S = mesh::UniformSubdivision<N>;
  py::class_<S>(m, name)
      .def(py::init([](const py::array& rest, const py::array& elements, Index levels) {
             const auto x = positions_of(rest, "vertices");
             const auto e = elements_of<N>(elements, "elements");
             return interruptible([&] { return std::make_unique<S>(x, e, levels); });
           }),
           py::arg("rest"), py::arg("elements"), py::arg("levels"))
      .def_property_readonly("nbytes", &S::nbytes)
      .def("vertices", &S::vertices, py::arg("level"))
      .def(
          "elements", [](const py::object& self, Index level) { return read_only(self.cast<const S&>().elements(level), self); },
          py::arg("level"))
      .def(
          "parents", [](const py::object& self, Index level) { return read_only(self.cast<const S&>().parents(level), self); },
          py::arg("level"))
      .def(
          "interpolate",
          [](const S& self, const py::array& coarse, Index level, const py::array& out) {
            const auto x = positions_of(coarse, "coarse");
            const auto y = points_out(out, "out");
            interruptible([&] { self.interpolate(x, level, y); });
          },
          py::arg("coarse"), py::arg("level"), py::arg("out"))
      .def(
          "displace",
          [](const S& self, const py::array& start, const py::array& end, Index level, double dt, const py::array& out,
             Workspace& workspace) {
            const auto a = positions_of(start, "start");
            const auto b = positions_of(end, "end");
            const auto y = points_out(out, "out");
            interruptible([&] { self.displace(a, b, level, dt, y, workspace); });
          },
          py::arg("start"), py::arg("end"), py::arg("level"), py::arg("dt"), py::arg("out"), py::arg("workspace"))
      .def(
          "combinations",
          [](const S& self, Index level) {
            const Index n = self.vertices(level);
            py::array_t<std::int32_t> nodes({static_cast<py::ssize_t>(n), static_cast<py::ssize_t>(N)});
            py::array_t<double> weights({static_cast<py::ssize_t>(n), static_cast<py::ssize_t>(N)});
            const std::span<typename S::Element> node(reinterpret_cast<typename S::Element*>(nodes.mutable_data()),
                                                      static_cast<std::size_t>(n));
            const std::span<std::array<double, N>> weight(reinterpret_cast<std::array<double, N>*>(weights.mutable_data()),
                                                          static_cast<std::size_t>(n));
            interruptible([&] { self.combinations(level, node, weight); });
            return py::make_tuple(nodes, weights);
          },
          py::arg("level"));
}

template <std::size_t D, class W>
void bind_embedding(py::module_& m, const char* name) {
  using E = mesh::Embedding<D, W>;
  py::class_<E>(m, name)
      .def(py::init([](const py::array& parents, const py::array& weights, Index nodes, double tolerance) {
             const auto p = elements_of<D>(parents, "parents");
             require(never_changes(parents), "parents must be an array that cannot change");
             const W* const first = data_of<W>(weights, "weights", parents.size());
             const std::span<const std::array<W, D>> w(reinterpret_cast<const std::array<W, D>*>(first), p.size());
             return interruptible([&] { return std::make_unique<E>(p, w, nodes, tolerance); });
           }),
           py::arg("parents"), py::arg("weights"), py::arg("nodes"), py::arg("tolerance"), py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>())
      .def(
          "evaluate",
          [](const E& self, const py::array& nodes, const py::array& out) {
            const auto x = positions_of(nodes, "nodes");
            const auto y = points_out(out, "out");
            interruptible([&] { self.evaluate(x, y); });
          },
          py::arg("nodes"), py::arg("out"))
      .def(
          "spread",
          [](E& self, const py::array& values, const py::array& nodes) {
            if (values.ndim() == 1) {
              const auto x = numbers(values, "values", false);
              const auto y = numbers(nodes, "nodes", true);
              interruptible([&] { self.spread(std::span<const double>(x), y); });
            } else {
              const auto x = positions_of(values, "values");
              const auto y = points_out(nodes, "nodes");
              interruptible([&] { self.spread(x, y); });
            }
          },
          py::arg("values"), py::arg("nodes"))
      .def(
          "effective_masses",
          [](const E& self, const py::array& masses, const py::array& out) {
            const auto x = numbers(masses, "masses", false);
            const auto y = numbers(out, "out", true);
            interruptible([&] { self.effective_masses(x, y); });
          },
          py::arg("masses"), py::arg("out"));
}

}  // namespace

void bind_derived_meshes(py::module_& m) {
  bind_quality(m);
  bind_orders(m);
  bind_delaunay(m);
  bind_subdivision<2>(m, "SegmentSubdivision");
  bind_subdivision<3>(m, "TriangleSubdivision");
  bind_subdivision<4>(m, "TetSubdivision");
  bind_embedding<2, float>(m, "EmbeddingIn2Float32");
  bind_embedding<2, double>(m, "EmbeddingIn2Float64");
  bind_embedding<3, float>(m, "EmbeddingIn3Float32");
  bind_embedding<3, double>(m, "EmbeddingIn3Float64");
  bind_embedding<4, float>(m, "EmbeddingIn4Float32");
  bind_embedding<4, double>(m, "EmbeddingIn4Float64");
}

}  // namespace meniscus::bindings
