// Voronoi cells, with read-only views of their arrays.
#include "mesh/mesh_arrays.hpp"

#include "meniscus/mesh/voronoi/voronoi_mesh.hpp"

namespace meniscus::bindings {
namespace {

py::array numbers_view(std::span<const double> values, const py::object& owner) {
  py::array a(py::dtype::of<double>(), std::vector<py::ssize_t>{std::ssize(values)}, values.data(), owner);
  a.attr("flags").attr("writeable") = false;
  return a;
}

py::array points_view(std::span<const mesh::Point> values, const py::object& owner) {
  py::array a(py::dtype::of<double>(), std::vector<py::ssize_t>{std::ssize(values), 3}, values.data()->data(), owner);
  a.attr("flags").attr("writeable") = false;
  return a;
}

template <auto member>
auto of_self() {
  return [](const py::object& self) {
    const auto values = (self.cast<const mesh::VoronoiMesh&>().*member)();
    using T = std::remove_cv_t<typename decltype(values)::element_type>;
    if constexpr (std::is_same_v<T, double>) {
      return numbers_view(values, self);
    } else if constexpr (std::is_same_v<T, mesh::Point>) {
      return points_view(values, self);
    } else {
      return read_only(values, self);
    }
  };
}

}  // namespace

void bind_voronoi(py::module_& m) {
  using mesh::VoronoiMesh;
  py::class_<VoronoiMesh>(m, "VoronoiMesh")
      .def(py::init([](const py::array& sites, const py::array& low, const py::array& high) {
             const auto x = positions_of(sites, "sites");
             const mesh::Box box{mesh::Point(data_of<double>(low, "low", 3)), mesh::Point(data_of<double>(high, "high", 3))};
             return interruptible([&] { return std::make_unique<VoronoiMesh>(x, box); });
           }),
           py::arg("sites"), py::arg("low"), py::arg("high"))
      .def_property_readonly("nbytes", &VoronoiMesh::nbytes)
      .def_property_readonly("sites", of_self<&VoronoiMesh::sites>())
      .def_property_readonly("points", of_self<&VoronoiMesh::points>())
      .def_property_readonly("tets", of_self<&VoronoiMesh::tets>())
      .def_property_readonly("neighbours", of_self<&VoronoiMesh::neighbours>())
      .def_property_readonly("faces", of_self<&VoronoiMesh::faces>())
      .def_property_readonly("areas", of_self<&VoronoiMesh::areas>())
      .def_property_readonly("centroids", of_self<&VoronoiMesh::centroids>())
      .def_property_readonly("normals", of_self<&VoronoiMesh::normals>())
      .def_property_readonly("distances", of_self<&VoronoiMesh::distances>())
      .def_property_readonly("volumes", of_self<&VoronoiMesh::volumes>())
      .def_property_readonly("polygon_corners", of_self<&VoronoiMesh::polygon_corners>())
      .def_property_readonly("polygon_starts", of_self<&VoronoiMesh::polygon_starts>())
      .def(
          "locate",
          [](const VoronoiMesh& self, const py::array& points, const py::array& out) {
            const auto x = positions_of(points, "points");
            auto* const first = data_of<std::int32_t>(out, "out", std::ssize(x), true);
            interruptible([&] { self.locate(x, {first, x.size()}); });
          },
          py::arg("points"), py::arg("out"));
}

}  // namespace meniscus::bindings
