// Parts of a liquid on Voronoi cells: queries of its surface, samples, cells, projection, velocity and advection.
#include "surface/called_function.hpp"

#include "meniscus/fluids/voronoi/cell_advection.hpp"
#include "meniscus/fluids/voronoi/surface_measures.hpp"
#include "meniscus/fluids/voronoi/surface_samples.hpp"

namespace meniscus::bindings {
namespace {

using Floats = py::array_t<double>;
using fluids::FaceVelocity;
using fluids::LiquidCells;
using mesh::Point;
using mesh::VoronoiMesh;

Floats point_copy(std::span<const Point> values) {
  Floats out({std::ssize(values), py::ssize_t{3}});
  std::memcpy(out.mutable_data(), values.data(), values.size_bytes());
  return out;
}

template <class T>
py::array_t<std::int8_t> states_of(const std::vector<T>& values) {
  return py::array_t<std::int8_t>(std::ssize(values), reinterpret_cast<const std::int8_t*>(values.data()));
}

std::span<Point> points_into(const py::array& a, const char* name, Index rows) {
  auto* const first = reinterpret_cast<Point*>(data_of<double>(a, name, 3 * rows, true));
  return {first, static_cast<std::size_t>(rows)};
}

std::span<double> values_into(const py::array& a, const char* name, Index size) {
  auto* const first = data_of<double>(a, name, size, true);
  return {first, static_cast<std::size_t>(size)};
}

std::span<FaceVelocity> face_velocities(const py::array& a, const VoronoiMesh& mesh, bool writable) {
  static_assert(sizeof(FaceVelocity) == 2 * sizeof(double));
  auto* const first =
      reinterpret_cast<FaceVelocity*>(data_of<double>(a, "face velocity", 2 * std::ssize(mesh.faces()), writable));
  return {first, mesh.faces().size()};
}

mesh::Box box_of(const py::array& low, const py::array& high) {
  return {Point(data_of<double>(low, "low", 3)), Point(data_of<double>(high, "high", 3))};
}

void bind_surface_hits(py::module_& m) {
  using fluids::SurfaceHits;
  py::class_<SurfaceHits>(m, "SurfaceHits")
      .def(py::init([](const py::array& vertices, const py::array& triangles) {
             const auto x = positions_of(vertices, "vertices");
             const auto t = triangles_of(triangles);
             mesh::require_valid({x, t});
             return interruptible([&] { return std::make_unique<SurfaceHits>(mesh::TriangleMeshView{x, t}); });
           }),
           py::arg("vertices"), py::arg("triangles"))
      .def("inside",
           [](const SurfaceHits& self, const py::array& points) {
             const auto x = positions_of(points, "points");
             py::array_t<bool> out(std::ssize(x));
             auto* const first = reinterpret_cast<std::uint8_t*>(out.mutable_data());
             interruptible([&] { self.inside(x, {first, x.size()}); });
             return out;
           })
      .def("curvature", [](const SurfaceHits& self, double limit) {
        const auto surface = self.surface();
        Floats out(std::ssize(surface.vertices));
        const std::span<double> values(out.mutable_data(), surface.vertices.size());
        interruptible([&] { fluids::vertex_curvature(surface, fluids::vertex_normals(surface), limit, values); });
        return out;
      });
  py::native_enum<fluids::SampleState>(m, "SampleState", "enum.Enum")
      .value("placed", fluids::SampleState::placed)
      .value("crowded", fluids::SampleState::crowded)
      .value("gap", fluids::SampleState::gap)
      .value("outside", fluids::SampleState::outside)
      .value("solid", fluids::SampleState::solid)
      .value("wrong_side", fluids::SampleState::wrong_side)
      .finalize();
  py::class_<fluids::LiquidSampleOptions>(m, "LiquidSampleOptions")
      .def(py::init<>())
      .def_readwrite("cell", &fluids::LiquidSampleOptions::cell)
      .def_readwrite("lattice", &fluids::LiquidSampleOptions::lattice)
      .def_readwrite("air", &fluids::LiquidSampleOptions::air)
      .def_readwrite("liquid", &fluids::LiquidSampleOptions::liquid)
      .def_readwrite("gap", &fluids::LiquidSampleOptions::gap)
      .def_readwrite("crowd", &fluids::LiquidSampleOptions::crowd)
      .def_readwrite("band", &fluids::LiquidSampleOptions::band)
      .def_readwrite("jitter", &fluids::LiquidSampleOptions::jitter)
      .def_readwrite("regular", &fluids::LiquidSampleOptions::regular);
  m.def(
      "place_samples",
      [](const SurfaceHits& surface, const py::array& low, const py::array& high, const std::optional<py::function>& solid,
         const fluids::LiquidSampleOptions& options) {
        const mesh::Box box = box_of(low, high);
        const py::object function = solid ? py::object(*solid) : py::none();
        const surface::SignedDistance distance = solid ? called(function, "distance") : surface::SignedDistance();
        const auto found = interruptible([&] { return fluids::place_samples(surface, box, distance, options); });
        return py::make_tuple(point_copy(found.sites), found.at_surface, states_of(found.in_liquid), states_of(found.in_air),
                              point_copy(found.normals));
      },
      py::arg("surface"), py::arg("low"), py::arg("high"), py::arg("solid"), py::arg("options"));
}

void bind_liquid_cells(py::module_& m) {
  py::class_<LiquidCells>(m, "LiquidCells")
      .def(py::init([](const VoronoiMesh& mesh, const fluids::SurfaceHits& surface, const py::array& pressure, double gap,
                       bool exact_crossings, const std::optional<py::function>& distance,
                       const std::optional<py::function>& velocity) {
             const Index n = std::ssize(surface.surface().vertices);
             const std::span<const double> p(data_of<double>(pressure, "pressure", n), static_cast<std::size_t>(n));
             const py::object phi = distance ? py::object(*distance) : py::none();
             fluids::CellSolid solid;
             if (distance) solid.distance = called(phi, "distance");
             if (velocity)
               solid.velocity = [&](std::span<const Point> points, std::span<Point> out) {
                 with_gil([&] {
                   const Floats v = (*velocity)(point_copy(points));
                   std::copy_n(data_of<double>(v, "velocity", 3 * std::ssize(points)), 3 * points.size(), out.data()->data());
                 });
               };
             auto cells = std::make_unique<LiquidCells>();
             const fluids::LiquidCellsOptions options{gap, exact_crossings};
             interruptible([&] { fluids::classify_cells(mesh, surface, p, solid, options, *cells); });
             return cells;
           }),
           py::arg("mesh"), py::arg("surface"), py::arg("pressure"), py::arg("gap"), py::arg("exact_crossings"),
           py::arg("distance"), py::arg("velocity"))
      .def_property_readonly("nbytes", &LiquidCells::nbytes)
      .def_property_readonly("liquid",
                             [](const LiquidCells& self) {
                               return py::array_t<bool>(std::ssize(self.liquid),
                                                        reinterpret_cast<const bool*>(self.liquid.data()));
                             })
      .def_property_readonly("open", [](const LiquidCells& self) { return Floats(std::ssize(self.open), self.open.data()); })
      .def_property_readonly(
          "part", [](const LiquidCells& self) { return py::array_t<std::int32_t>(std::ssize(self.part), self.part.data()); })
      .def_property_readonly("sides", [](const LiquidCells& self) {
        py::array_t<std::int8_t> beyond({std::ssize(self.sides), py::ssize_t{2}});
        Floats reach({std::ssize(self.sides), py::ssize_t{2}}), pressure({std::ssize(self.sides), py::ssize_t{2}});
        auto* b = beyond.mutable_data();
        auto* r = reach.mutable_data();
        auto* p = pressure.mutable_data();
        for (std::size_t i = 0; i < 2 * self.sides.size(); ++i) {
          const auto& side = self.sides[i / 2][i % 2];
          b[i] = static_cast<std::int8_t>(side.beyond);
          r[i] = side.reach;
          p[i] = side.pressure;
        }
        return py::make_tuple(beyond, reach, pressure);
      });
}

void bind_cell_projection(py::module_& m) {
  py::class_<fluids::CellProjection>(m, "CellProjection")
      .def(py::init<>())
      .def_property_readonly("nbytes", &fluids::CellProjection::nbytes)
      .def(
          "project",
          [](fluids::CellProjection& self, const VoronoiMesh& mesh, const LiquidCells& cells, const py::array& velocity,
             const py::array& pressure, const std::optional<py::array>& divergence, double scale, const py::array& weight,
             const numerics::SolveOptions& options) {
            const auto u = face_velocities(velocity, mesh, true);
            const auto p = values_into(pressure, "pressure", mesh.size());
            fluids::CellPressure problem{scale, Point(data_of<double>(weight, "weight", 3)), {}};
            if (divergence) problem.divergence = {data_of<double>(*divergence, "divergence", mesh.size()), p.size()};
            fluids::CellProjectionReport report;
            interruptible([&] { self.project(mesh, cells, problem, u, p, options, report); });
            return py::make_tuple(report.solve, report.unknowns, report.parts, report.closed_parts, report.divergence);
          },
          py::arg("mesh"), py::arg("cells"), py::arg("velocity"), py::arg("pressure"), py::arg("divergence"), py::arg("scale"),
          py::arg("weight"), py::arg("options"));
}

void bind_cell_velocity(py::module_& m) {
  using fluids::CellVelocity;
  py::class_<CellVelocity>(m, "CellVelocity")
      .def(py::init([](const VoronoiMesh& mesh, const LiquidCells& cells, const py::array& velocity, double cell, int corrections,
                       int layers, bool averages) {
             const auto u = face_velocities(velocity, mesh, false);
             auto field = std::make_unique<CellVelocity>();
             interruptible([&] { field->fit(mesh, cells, u, {cell, corrections, layers, averages}); });
             return field;
           }),
           py::arg("mesh"), py::arg("cells"), py::arg("velocity"), py::arg("cell"), py::arg("corrections"), py::arg("layers"),
           py::arg("averages"), py::keep_alive<1, 2>(), py::keep_alive<1, 3>())
      .def_property_readonly("nbytes", &CellVelocity::nbytes)
      .def_property_readonly("greatest_speed", &CellVelocity::greatest_speed)
      .def_property_readonly("at_sites",
                             [](const CellVelocity& self) {
                               std::vector<Point> values(self.mesh().sites().size());
                               for (std::int32_t i = 0; i < self.mesh().size(); ++i) values[i] = self.at_site(i);
                               return point_copy(values);
                             })
      .def(
          "anchors",
          [](const CellVelocity& self, const py::array& points) {
            const auto x = positions_of(points, "points");
            py::array_t<std::int32_t> out(std::ssize(x));
            const std::span<std::int32_t> values(out.mutable_data(), x.size());
            interruptible([&] { self.anchor_at(x, values); });
            return out;
          },
          py::arg("points"))
      .def(
          "at",
          [](const CellVelocity& self, const py::array& points, const std::optional<py::array>& anchors) {
            const auto x = positions_of(points, "points");
            std::span<const std::int32_t> p;
            if (anchors) p = {data_of<std::int32_t>(*anchors, "anchors", std::ssize(x)), x.size()};
            Floats out({std::ssize(x), py::ssize_t{3}});
            const auto values = points_into(out, "out", std::ssize(x));
            interruptible([&] { self.at(x, p, values); });
            return out;
          },
          py::arg("points"), py::arg("anchors"))
      .def(
          "carried",
          [](const CellVelocity& self, const py::array& points, const py::array& anchors) {
            const auto x = positions_of(points, "points");
            const std::span p{data_of<std::int32_t>(anchors, "anchors", std::ssize(x)), x.size()};
            Floats out({std::ssize(x), py::ssize_t{3}});
            const auto values = points_into(out, "out", std::ssize(x));
            interruptible([&] { self.carried(x, p, values); });
            return out;
          },
          py::arg("points"), py::arg("anchors"));
  m.def(
      "advect_faces",
      [](const CellVelocity& old, const py::array& old_velocity, const VoronoiMesh& mesh, const LiquidCells& cells, double dt,
         bool printed, const py::array& out) {
        const auto before = face_velocities(old_velocity, old.mesh(), false), after = face_velocities(out, mesh, true);
        interruptible([&] { fluids::advect_faces(old, before, mesh, cells, dt, printed, after); });
      },
      py::arg("old"), py::arg("old_velocity"), py::arg("mesh"), py::arg("cells"), py::arg("dt"), py::arg("printed"),
      py::arg("out"));
}

}  // namespace

void bind_voronoi_liquid(py::module_& m) {
  bind_surface_hits(m);
  bind_liquid_cells(m);
  bind_cell_projection(m);
  bind_cell_velocity(m);
  m.def(
      "vertex_normals",
      [](const py::array& vertices, const py::array& triangles) {
        const auto x = positions_of(vertices, "vertices");
        const auto t = triangles_of(triangles);
        return point_copy(fluids::vertex_normals({x, t}));
      },
      py::arg("vertices"), py::arg("triangles"));
  m.def(
      "measure_in_box",
      [](const py::array& vertices, const py::array& triangles, const py::array& part, Index parts, const py::array& low,
         const py::array& high) {
        static_assert(sizeof(fluids::PartMeasure) == 5 * sizeof(double));
        const auto x = positions_of(vertices, "vertices");
        const auto t = triangles_of(triangles);
        const mesh::TriangleMeshView surface{x, t};
        const std::span<const std::int32_t> p(data_of<std::int32_t>(part, "part", surface.size()), surface.triangles.size());
        for (const std::int32_t k : p) require(k >= 0 && k < parts, "part must be in [0, ", parts, "), not ", k);
        std::vector<fluids::PartMeasure> out(static_cast<std::size_t>(parts));
        interruptible([&] { fluids::measure_in_box(surface, p, box_of(low, high), out); });
        return Floats({py::ssize_t{parts}, py::ssize_t{5}}, reinterpret_cast<const double*>(out.data()));
      },
      py::arg("vertices"), py::arg("triangles"), py::arg("part"), py::arg("parts"), py::arg("low"), py::arg("high"));
}

}  // namespace meniscus::bindings
