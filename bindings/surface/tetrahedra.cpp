// Solids as tetrahedral meshes see them: touched tetrahedra, distances at nodes, fractions, continuation.
#include "mesh/mesh_arrays.hpp"
#include "surface/called_function.hpp"
#include "surface/tet_stars.hpp"

#include "meniscus/surface/tetrahedra/closest_points.hpp"
#include "meniscus/surface/tetrahedra/continuation.hpp"
#include "meniscus/surface/tetrahedra/touched_tets.hpp"
#include "meniscus/surface/tetrahedra/union_occupancy.hpp"

namespace meniscus::bindings {
namespace {

/// The numbers are checked once, by the Python class that keeps the array; here only its dtype.
std::span<const mesh::Tet> tet_rows(const py::array& tets) {
  return {reinterpret_cast<const mesh::Tet*>(data_of<std::int32_t>(tets, "tets")), static_cast<std::size_t>(tets.shape(0))};
}

mesh::TetMeshView tet_view(const py::array& vertices, const py::array& tets) {
  return {positions_of(vertices, "vertices"), tet_rows(tets)};
}

template <class T>
std::span<const T> values_of(const py::array& a, const char* name, std::size_t n) {
  return {data_of<T>(a, name, static_cast<Index>(n)), n};
}

template <class T>
std::span<T> writable_of(const py::array& a, const char* name, std::size_t n) {
  return {data_of<T>(a, name, static_cast<Index>(n), true), n};
}

std::span<mesh::Point> vectors_of(const py::array& a, const char* name, std::size_t n) {
  return {reinterpret_cast<mesh::Point*>(data_of<double>(a, name, static_cast<Index>(3 * n), true)), n};
}

constexpr const char* distance_name = "the signed distance of the solid";

/// A tree over the triangles of a surface, which keeps its structure while they move.
class SurfaceTree {
 public:
  SurfaceTree(const py::array& vertices, const py::array& triangles) : triangles_(copied(triangles)), tree_(view(vertices)) {}
  void update(const py::array& vertices) { tree_.refit(view(vertices)); }
  const mesh::TriangleTree& tree() const { return tree_; }

 private:
  static std::vector<mesh::Triangle> copied(const py::array& triangles) {
    const auto checked = triangles_of(triangles);
    const std::span<const mesh::Triangle> rows = checked;
    return {rows.begin(), rows.end()};
  }
  mesh::TriangleMeshView view(const py::array& vertices) const {
    const mesh::TriangleMeshView mesh{positions_of(vertices, "vertices"), triangles_};
    mesh::require_valid(mesh);
    return mesh;
  }
  std::vector<mesh::Triangle> triangles_;
  mesh::TriangleTree tree_;
};

/// A member of a solid: its distance, the greatest change of that per metre, and the tree over its triangles or None.
using Member = std::tuple<py::object, double, const SurfaceTree*>;

void bind_distances(py::module_& m) {
  m.def(
      "closest_points",
      [](const py::object& distance, const py::array& points, double step, const py::array& closest, const py::array& normals) {
        const auto x = positions_of(points, "points");
        const auto y = vectors_of(closest, "closest", x.size());
        const auto n = vectors_of(normals, "normals", x.size());
        const auto f = called_distance(distance, distance_name);
        interruptible([&] { surface::closest_points(f, x, step, y, n); });
      },
      py::arg("distance"), py::arg("points"), py::arg("step"), py::arg("closest"), py::arg("normals"));
  m.def(
      "closest_points_of_mesh",
      [](const surface::MeshDistance& self, const py::array& points, const py::array& closest, const py::array& normals) {
        const surface::MeshDistance distance = self;
        const auto x = positions_of(points, "points");
        const auto y = vectors_of(closest, "closest", x.size());
        const auto n = vectors_of(normals, "normals", x.size());
        py::array_t<std::int32_t> triangles(static_cast<py::ssize_t>(x.size()));
        py::array_t<double> barycentric({static_cast<py::ssize_t>(x.size()), py::ssize_t{3}});
        const std::span<std::int32_t> t(triangles.mutable_data(), x.size());
        const auto b = vectors_of(barycentric, "barycentric", x.size());
        interruptible([&] {
          mesh::require_measurable(x, "points");
          surface::closest_points(distance, x, y, n, t, b);
        });
        return py::make_tuple(triangles, barycentric);
      },
      py::arg("distance"), py::arg("points"), py::arg("closest"), py::arg("normals"));
}

void bind_occupancy(py::module_& m) {
  m.def(
      "longest_edge",
      [](const py::array& vertices, const py::array& tets) {
        const auto mesh = tet_view(vertices, tets);
        return interruptible([&] { return surface::longest_edge(mesh); });
      },
      py::arg("vertices"), py::arg("tets"));
  m.def(
      "tets_of_region",
      [](const py::array& tets, const py::array& phi, double reach) {
        const auto rows = tet_rows(tets);
        const auto p = values_of<double>(phi, "phi", static_cast<std::size_t>(phi.size()));
        return taken(interruptible([&] { return surface::tets_of_region(rows, p, reach); }));
      },
      py::arg("tets"), py::arg("phi"), py::arg("reach"));
  py::class_<surface::UnionOccupancy>(m, "UnionOccupancy")
      .def(py::init<>())
      .def_property_readonly("nbytes", &surface::UnionOccupancy::nbytes)
      .def(
          "set",
          [](surface::UnionOccupancy& self, const py::array& positions, const py::array& tets, const std::vector<Member>& members,
             double band, double edges, const py::array& phi, const py::array& fraction, const py::array& cut,
             const py::array& inside) {
            const auto mesh = tet_view(positions, tets);
            const surface::Occupancy out{writable_of<double>(phi, "phi", mesh.vertices.size()),
                                         writable_of<double>(fraction, "fraction", mesh.tets.size()),
                                         writable_of<bool>(cut, "cut", mesh.tets.size()),
                                         writable_of<bool>(inside, "inside", mesh.tets.size())};
            std::vector<surface::OccupyingSolid> solids;
            for (const auto& [distance, slope, tree] : members)
              solids.push_back({called_distance(distance, distance_name), slope, tree ? &tree->tree() : nullptr});
            return interruptible([&] {
              const double edge = surface::longest_edge(mesh);
              const double width = std::max(band + edges * edge, surface::UnionOccupancy::least_band * edge);
              self.set(mesh, solids, width, edge, out);
              return std::pair(width, edge);
            });
          },
          py::arg("positions"), py::arg("tets"), py::arg("members"), py::arg("band"), py::arg("edges"), py::arg("phi"),
          py::arg("fraction"), py::arg("cut"), py::arg("inside"));
  m.def(
      "count_samples",
      [](const py::array& vertices, const py::array& tets, const py::array& cut, const py::object& distance, Index count,
         const py::array& fraction) {
        const auto mesh = tet_view(vertices, tets);
        const auto c = values_of<bool>(cut, "cut", mesh.tets.size());
        const auto s = writable_of<double>(fraction, "fraction", mesh.tets.size());
        const auto samples = mesh::fixed_samples(count);
        const auto f = called_distance(distance, distance_name);
        interruptible([&] { surface::count_samples(mesh, c, f, samples, s); });
      },
      py::arg("vertices"), py::arg("tets"), py::arg("cut"), py::arg("distance"), py::arg("count"), py::arg("fraction"));
}

}  // namespace

void bind_tetrahedra(py::module_& m) {
  py::class_<SurfaceTree>(m, "SurfaceTree")
      .def(py::init<const py::array&, const py::array&>(), py::arg("vertices"), py::arg("triangles"))
      .def("update", &SurfaceTree::update, py::arg("vertices"));
  m.def(
      "touched_tets",
      [](const py::array& vertices, const py::array& tets, const SurfaceTree& surface, const std::optional<py::array>& phi,
         double longest_edge, bool signs, const py::array& out) {
        const auto mesh = tet_view(vertices, tets);
        const auto distances = phi ? values_of<double>(*phi, "phi", mesh.vertices.size()) : std::span<const double>();
        const auto touched = writable_of<bool>(out, "out", mesh.tets.size());
        interruptible([&] { surface::touched_tets(mesh, surface.tree(), distances, longest_edge, signs, touched); });
      },
      py::arg("vertices"), py::arg("tets"), py::arg("surface"), py::arg("phi"), py::arg("longest_edge"), py::arg("signs"),
      py::arg("out"));
  bind_distances(m);
  bind_occupancy(m);
  py::class_<TetStars>(m, "TetStars")
      .def(py::init([](const py::array& tets, Index vertices) {
             // In place: the stars refer to these rows as long as they live.
             const auto rows = tet_rows(tets);
             return interruptible([&] {
               mesh::require_valid_elements(rows, vertices);
               return TetStars{tets, std::make_shared<const mesh::VertexStars<4>>(rows, vertices)};
             });
           }),
           py::arg("tets"), py::arg("vertices"))
      .def_property_readonly("nbytes", [](const TetStars& s) { return s.stars->nbytes(); });
  m.def(
      "find_known",
      [](const py::array& tets, const py::array& phi, double band, const py::array& cut, const py::array& inside, bool closest,
         const py::array& known) {
        const auto rows = tet_rows(tets);
        const auto p = values_of<double>(phi, "phi", static_cast<std::size_t>(phi.size()));
        const auto c = values_of<bool>(cut, "cut", rows.size());
        const auto i = values_of<bool>(inside, "inside", rows.size());
        const auto k = writable_of<std::int8_t>(known, "known", rows.size());
        interruptible([&] { surface::find_known(rows, p, band, c, i, closest, k); });
      },
      py::arg("tets"), py::arg("phi"), py::arg("band"), py::arg("cut"), py::arg("inside"), py::arg("closest"), py::arg("known"));
  m.def(
      "continue_averages",
      [](const TetStars& stars, const py::array& known, Index layers, const py::array& normal, const py::array& velocity) {
        const std::size_t n = stars.stars->elements().size();
        const auto k = values_of<std::int8_t>(known, "known", n);
        const auto x = vectors_of(normal, "normal", n);
        const auto v = vectors_of(velocity, "velocity", n);
        interruptible([&] { surface::continue_averages(*stars.stars, k, layers, x, v); });
      },
      py::arg("stars"), py::arg("known"), py::arg("layers"), py::arg("normal"), py::arg("velocity"));
  m.def(
      "continue_closest",
      [](const TetStars& stars, const py::array& positions, const py::array& known, const py::array& near,
         const py::array& closest, Index layers, const py::array& normal, const py::array& velocity) {
        const std::size_t n = stars.stars->elements().size();
        const auto p = positions_of(positions, "positions");
        require(static_cast<Index>(p.size()) == stars.stars->vertices(), "positions must have ", stars.stars->vertices(),
                " rows");
        const auto k = values_of<std::int8_t>(known, "known", n);
        const auto c = positions_of(closest, "closest");
        const auto i = values_of<std::int64_t>(near, "near", c.size());
        const auto x = vectors_of(normal, "normal", n);
        const auto v = vectors_of(velocity, "velocity", n);
        interruptible([&] { surface::continue_closest(*stars.stars, p, k, i, c, layers, x, v); });
      },
      py::arg("stars"), py::arg("positions"), py::arg("known"), py::arg("near"), py::arg("closest"), py::arg("layers"),
      py::arg("normal"), py::arg("velocity"));
}

}  // namespace meniscus::bindings
