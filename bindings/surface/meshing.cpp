// Bindings of BCC lattices, red-green refinement, meshes of level sets, and harmonic morphs.
#include "mesh/mesh_arrays.hpp"
#include "surface/called_function.hpp"

#include "meniscus/mesh/embedding/harmonic_morph.hpp"
#include "meniscus/mesh/refinement/red_green.hpp"
#include "meniscus/surface/meshing/delaunay_meshing.hpp"
#include "meniscus/surface/meshing/surface_meshing.hpp"
#include "meniscus/surface/shapes/mesh_distance.hpp"

namespace meniscus::bindings {
namespace {

/// Read-only positions and tetrahedra that take over a mesh.
py::tuple arrays_of(mesh::TetMeshData&& mesh) {
  auto* kept = new std::vector<mesh::Point>(std::move(mesh.vertices));
  const py::capsule owner = sealing(kept, [](void* p) { delete static_cast<std::vector<mesh::Point>*>(p); });
  py::array x(py::dtype::of<double>(), std::vector<py::ssize_t>{static_cast<py::ssize_t>(kept->size()), 3},
              reinterpret_cast<const double*>(kept->data()), owner);
  x.attr("flags").attr("writeable") = false;
  // An empty array has no row from which its shape could follow.
  return py::make_tuple(x, taken(std::move(mesh.tets)));
}

mesh::TetMeshData copied(const py::array& vertices, const py::array& tets) {
  const auto x = positions_of(vertices, "vertices");
  const auto t = elements_of<4>(tets, "tets");
  const std::span<const mesh::Tet> rows = t;
  return {{x.begin(), x.end()}, {rows.begin(), rows.end()}};
}

surface::BccMeshOptions options_of(double cell, int refinements, bool fit, bool covering, bool largest_part_only, double depth) {
  return {cell, refinements, fit, covering ? surface::TetSelection::covering : surface::TetSelection::centred, largest_part_only,
          depth};
}

void bind_level_set_meshing(py::module_& m) {
  using V = std::array<double, 3>;
  m.def(
      "mesh_level_set",
      [](const py::object& source, const V& lower, const V& upper, double cell, int refinements, bool fit, bool covering,
         bool largest_part_only, double depth) {
        const surface::BccMeshOptions options = options_of(cell, refinements, fit, covering, largest_part_only, depth);
        const surface::Bounds<3> box{mesh::Point(lower[0], lower[1], lower[2]), mesh::Point(upper[0], upper[1], upper[2])};
        if (py::isinstance<surface::MeshDistance>(source)) {
          const surface::MeshDistance distance = source.cast<const surface::MeshDistance&>();
          return arrays_of(interruptible([&] {
            return surface::mesh_level_set(
                [&](std::span<const mesh::Point> p, std::span<double> v) { distance.signed_distance(p, v); }, box, options);
          }));
        }
        if (py::isinstance<surface::ImplicitShape<3>>(source)) {
          const auto shape = source.cast<std::shared_ptr<surface::ImplicitShape<3>>>();
          return arrays_of(interruptible([&] {
            return surface::mesh_level_set(
                [&](std::span<const mesh::Point> p, std::span<double> v) {
                  if (!p.empty()) surface::signed_distance<3>(*shape, p[0].data(), static_cast<Index>(p.size()), v.data());
                },
                box, options);
          }));
        }
        const auto function = py::cast<py::function>(source);
        return arrays_of(interruptible(
            [&] { return surface::mesh_level_set(called(function, "the values of the level set"), box, options); }));
      },
      py::arg("source"), py::arg("lower"), py::arg("upper"), py::arg("cell"), py::arg("refinements"), py::arg("fit"),
      py::arg("covering"), py::arg("largest_part_only"), py::arg("depth"));
  m.def(
      "unresolved_part",
      [](const surface::MeshDistance& surface, const py::array& vertices, const py::array& tets, double cell, double reach) {
        const auto x = positions_of(vertices, "vertices");
        const auto t = elements_of<4>(tets, "tets");
        const surface::UnresolvedPart part =
            interruptible([&, copy = surface] { return surface::unresolved_part(copy, {x, t}, cell, reach); });
        const mesh::Point& at = part.deviation.sample;
        return py::make_tuple(part.deviation.distance, py::make_tuple(at[0], at[1], at[2]), part.volume, part.thickness);
      },
      py::arg("surface"), py::arg("vertices"), py::arg("tets"), py::arg("cell"), py::arg("reach"));
  m.def(
      "mesh_delaunay",
      [](const surface::MeshDistance& surface, double spacing, double sharp_angle, int rounds, double least_ratio,
         bool largest_part_only) {
        const surface::DelaunayMeshOptions options{spacing, sharp_angle, rounds, least_ratio, largest_part_only};
        return arrays_of(interruptible([&, copy = surface] { return surface::mesh_delaunay(copy, options); }));
      },
      py::arg("surface"), py::arg("spacing"), py::arg("sharp_angle"), py::arg("rounds"), py::arg("least_ratio"),
      py::arg("largest_part_only"));
  m.def(
      "mesh_surface",
      [](const surface::MeshDistance& surface, const V& lower, const V& upper, double cell, int refinements,
         bool largest_part_only, double sharp_angle, double deviation) {
        const surface::BccMeshOptions options =
            options_of(cell, refinements, true, true, largest_part_only, std::numeric_limits<double>::infinity());
        const surface::Bounds<3> box{mesh::Point(lower[0], lower[1], lower[2]), mesh::Point(upper[0], upper[1], upper[2])};
        surface::FittedMesh made =
            interruptible([&, copy = surface] { return surface::mesh_surface(copy, box, options, sharp_angle, deviation); });
        const mesh::Point& at = made.deviation.sample;
        return py::make_tuple(arrays_of(std::move(made.mesh)), made.deviation.distance, py::make_tuple(at[0], at[1], at[2]));
      },
      py::arg("surface"), py::arg("lower"), py::arg("upper"), py::arg("cell"), py::arg("refinements"),
      py::arg("largest_part_only"), py::arg("sharp_angle"), py::arg("deviation"));
}

}  // namespace

void bind_meshing(py::module_& mesh, py::module_& surface) {
  mesh.def(
      "bcc_lattice",
      [](const std::array<double, 3>& origin, double cell, const Coord<3>& cubes) {
        return arrays_of(
            interruptible([&] { return mesh::BccLattice(mesh::Point(origin[0], origin[1], origin[2]), cell, cubes).mesh(); }));
      },
      py::arg("origin"), py::arg("cell"), py::arg("cubes"));
  mesh.def(
      "red_green",
      [](const py::array& vertices, const py::array& tets, const py::function& sizes, int rounds) {
        mesh::RedGreen hierarchy(copied(vertices, tets));
        const auto size_function = called(sizes, "the values of sizes");
        return arrays_of(interruptible([&] {
          mesh::refine(hierarchy, size_function, rounds);
          mesh::TetMeshData refined = hierarchy.mesh();
          mesh::sort_along_curve(refined);
          return refined;
        }));
      },
      py::arg("vertices"), py::arg("tets"), py::arg("sizes"), py::arg("rounds"));
  py::class_<mesh::HarmonicMorph>(mesh, "HarmonicMorph")
      .def(py::init([](const py::array& vertices, const py::array& tets, const py::array& nodes) {
             const auto x = positions_of(vertices, "vertices");
             const auto t = elements_of<4>(tets, "tets");
             const auto fixed = indices_of(nodes, "nodes");
             return interruptible([&] { return std::make_unique<mesh::HarmonicMorph>(mesh::TetMeshView{x, t}, fixed); });
           }),
           py::arg("vertices"), py::arg("tets"), py::arg("nodes"))
      .def("positive_edges", &mesh::HarmonicMorph::positive_edges)
      .def(
          "solve",
          [](mesh::HarmonicMorph& self, const py::array& displacements, double tolerance, bool warm, const py::array& out) {
            const auto d = positions_of(displacements, "displacements");
            double* const first = data_of<double>(out, "out", -1, true);
            require(out.ndim() == 2 && out.shape(1) == 3, "out must have shape (n, 3)");
            const std::span<mesh::Point> x(reinterpret_cast<mesh::Point*>(first), static_cast<std::size_t>(out.shape(0)));
            return interruptible([&] { return self.solve(d, tolerance, warm, x); });
          },
          py::arg("displacements"), py::arg("tolerance"), py::arg("warm"), py::arg("out"));
  bind_level_set_meshing(surface);
}

}  // namespace meniscus::bindings
