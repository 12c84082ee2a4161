// Vortex sheets on triangle meshes, and their circulations through changes of the mesh.
#include "collision/triangle_arrays.hpp"

#include "meniscus/fluids/sheets/circulation_transfer.hpp"
#include "meniscus/fluids/sheets/single_layer.hpp"

namespace meniscus::bindings {
namespace {

using Floats = py::array_t<double>;
using mesh::TriangleTopology;

Floats like_points(Index n) { return Floats({static_cast<py::ssize_t>(n), py::ssize_t{3}}); }

std::span<mesh::Point> points_in(Floats& a) {
  return {reinterpret_cast<mesh::Point*>(a.mutable_data()), static_cast<std::size_t>(a.shape(0))};
}

/// A mesh of NumPy arrays, whose triangles may be a copy.
struct SheetArrays {
  SheetArrays(const py::array& x, const py::array& t) : points(positions_of(x, "points")), triangles(triangles_of(t)) {}
  std::span<const mesh::Point> points;
  Indices<mesh::Triangle> triangles;
  fluids::SheetView view() const& { return {points, triangles}; }
};

std::span<const double> numbers_of(const py::array& a, const char* name, Index n) {
  return {data_of<double>(a, name, n), static_cast<std::size_t>(n)};
}

Floats copied(std::span<const double> values) { return Floats(static_cast<py::ssize_t>(values.size()), values.data()); }

Floats copied(std::span<const mesh::Point> values) {
  Floats out = like_points(std::ssize(values));
  std::memcpy(out.mutable_data(), values.data(), values.size_bytes());
  return out;
}

void bind_single_layer(py::module_& m) {
  using fluids::SingleLayer;
  py::class_<SingleLayer>(m, "SingleLayer")
      .def(py::init([](const py::array& points, const py::array& triangles, double accuracy) {
             const SheetArrays arrays(points, triangles);
             const mesh::TriangleMeshView view{arrays.view().points, arrays.view().triangles};
             return interruptible([&] { return std::make_unique<SingleLayer>(view, accuracy); });
           }),
           py::arg("points"), py::arg("triangles"), py::arg("accuracy"))
      .def_property_readonly("centres", [](const SingleLayer& self) { return copied(self.centres()); })
      .def_property_readonly("normals", [](const SingleLayer& self) { return copied(self.normals()); })
      .def_property_readonly("areas", [](const SingleLayer& self) { return copied(self.areas()); })
      .def_property(
          "density", [](const SingleLayer& self) { return copied(self.density()); },
          [](SingleLayer& self, const py::array& values) {
            const auto given = numbers_of(values, "density", self.size());
            std::copy(given.begin(), given.end(), self.density().begin());
          })
      .def(
          "solve",
          [](SingleLayer& self, const py::array& normal_velocity, double tolerance, int max_iterations) {
            const auto f = numbers_of(normal_velocity, "normal_velocity", self.size());
            const auto info = interruptible([&] { return self.solve(f, tolerance, max_iterations); });
            return py::make_tuple(info.iterations, info.converged, info.history);
          },
          py::arg("normal_velocity"), py::arg("tolerance"), py::arg("max_iterations"))
      .def("normal_velocity",
           [](const SingleLayer& self) {
             Floats found(static_cast<py::ssize_t>(self.size()));
             const std::span<double> out(found.mutable_data(), self.areas().size());
             interruptible([&] { self.multiply(self.density(), out); });
             return found;
           })
      .def(
          "velocity",
          [](const SingleLayer& self, const py::array& points) {
            const auto x = positions_of(points, "points");
            Floats velocity = like_points(std::ssize(x));
            const auto out = points_in(velocity);
            interruptible([&] { self.velocity(x, out); });
            return velocity;
          },
          py::arg("points"));
}

}  // namespace

void bind_vortex_sheet(py::module_& m) {
  py::native_enum<fluids::CirculationRule>(m, "CirculationRule", "enum.Enum")
      .value("exact", fluids::CirculationRule::exact)
      .value("printed", fluids::CirculationRule::printed)
      .finalize();
  bind_single_layer(m);
  m.def(
      "sheet_vorticity",
      [](const py::array& points, const py::array& triangles, const TriangleTopology& topology, const py::array& circulation) {
        const SheetArrays arrays(points, triangles);
        const auto sheet = arrays.view();
        const auto g = numbers_of(circulation, "circulation", std::ssize(topology.edges()));
        Floats vorticity = like_points(std::ssize(sheet.triangles)), centres = like_points(std::ssize(sheet.triangles));
        const auto w = points_in(vorticity), c = points_in(centres);
        interruptible([&] { fluids::sheet_vorticity(sheet, topology, g, w, c); });
        return py::make_tuple(vorticity, centres);
      },
      py::arg("points"), py::arg("triangles"), py::arg("topology"), py::arg("circulation"));
  m.def(
      "sheet_impulse",
      [](const py::array& vorticity, const py::array& centres) {
        const mesh::Point i = fluids::sheet_impulse(positions_of(vorticity, "vorticity"), positions_of(centres, "centres"));
        return py::make_tuple(i[0], i[1], i[2]);
      },
      py::arg("vorticity"), py::arg("centres"));
  m.def(
      "sheet_energy",
      [](const py::array& points, const py::array& triangles, const TriangleTopology& topology, const py::array& circulation,
         const py::array& velocity) {
        const auto g = numbers_of(circulation, "circulation", std::ssize(topology.edges()));
        const SheetArrays arrays(points, triangles);
        return fluids::sheet_energy(arrays.view(), topology, g, positions_of(velocity, "velocity"));
      },
      py::arg("points"), py::arg("triangles"), py::arg("topology"), py::arg("circulation"), py::arg("velocity"));
  m.def(
      "buoyant_circulation",
      [](const TriangleTopology& topology, const py::array& at_vertices, const py::array& at_middles) {
        const Index n = std::ssize(topology.edges());
        Floats rate(static_cast<py::ssize_t>(n));
        const std::span<double> out(rate.mutable_data(), static_cast<std::size_t>(n));
        const auto v = numbers_of(at_vertices, "at_vertices", at_vertices.size()), e = numbers_of(at_middles, "at_middles", n);
        fluids::buoyant_circulation(topology, v, e, out);
        return rate;
      },
      py::arg("topology"), py::arg("at_vertices"), py::arg("at_middles"));
  m.def(
      "smoothed_circulation",
      [](const py::array& before, const py::array& points, const py::array& triangles, const Floats& circulation) {
        const SheetArrays arrays(points, triangles);
        const auto x = positions_of(before, "before");
        const TriangleTopology topology(arrays.view().triangles);
        Floats values = copied(numbers_of(circulation, "circulation", std::ssize(topology.edges())));
        const std::span<double> out(values.mutable_data(), topology.edges().size());
        interruptible([&] { fluids::follow_smoothing(x, arrays.view(), topology, out); });
        return values;
      },
      py::arg("before"), py::arg("points"), py::arg("triangles"), py::arg("circulation"));
  m.def(
      "transfer_circulation",
      [](const mesh::SurfaceEvents& events, fluids::CirculationRule rule, const py::array& points, const py::array& triangles,
         const py::array& circulation, const py::array& new_points, const py::array& new_triangles) {
        const SheetArrays old(points, triangles), now(new_points, new_triangles);
        const auto before = old.view(), after = now.view();
        const auto g = numbers_of(circulation, "circulation", circulation.size());
        return copied(
            std::span<const double>(interruptible([&] { return fluids::transfer_circulation(events, rule, before, g, after); })));
      },
      py::arg("events"), py::arg("rule"), py::arg("points"), py::arg("triangles"), py::arg("circulation"), py::arg("new_points"),
      py::arg("new_triangles"));
}

}  // namespace meniscus::bindings
