// Pressure projection on tetrahedral meshes.
#include "collision/point_rows.hpp"
#include "index_arrays.hpp"
#include "masks.hpp"

#include "meniscus/fluids/tet_projection/tet_pressure_solver.hpp"

namespace meniscus::bindings {
namespace {

using fluids::TetPressureSolver;

std::unique_ptr<TetPressureSolver> make_tet_pressure_solver(const py::array& tets, Index vertices) {
  const auto elements = elements_of<4>(tets, "tets");
  return interruptible([&] { return std::make_unique<TetPressureSolver>(elements, vertices); });
}

const mesh::Point* tet_velocities_of(const std::optional<py::array>& a, const char* name, Index tets) {
  return a ? reinterpret_cast<const mesh::Point*>(data_of<double>(*a, name, 3 * tets)) : nullptr;
}

double* optional_numbers_of(const std::optional<py::array>& a, const char* name, Index size, bool writable) {
  return a ? data_of<double>(*a, name, size, writable) : nullptr;
}

/// Facts about the solve, seconds of setup, (levels, operator complexity), (wet, excluded tetrahedra) and (vertices, closed,
/// first vertex, flux, residual) of each region.
py::tuple project_tets(TetPressureSolver& solver, const py::array& positions, const py::array& velocity, double dt,
                       const py::array& wet, const std::optional<py::array>& enabled,
                       const std::optional<py::array>& open_fraction, const std::optional<py::array>& object_velocity,
                       fluids::TetBoundary boundary, const std::optional<py::array>& open_vertices, double density,
                       double min_open, double min_aspect, const std::optional<py::array>& pressure, bool warm_start,
                       const numerics::SolveOptions& solve, bool accept_unconverged) {
  const auto m = static_cast<Index>(solver.mesh().tets().size());
  const Index n = solver.mesh().vertices();
  fluids::TetPressureProblem p;
  p.positions = rows_of<mesh::Point>(positions, "positions");
  p.velocity = {reinterpret_cast<mesh::Point*>(data_of<double>(velocity, "velocity", 3 * m, true)), static_cast<std::size_t>(m)};
  p.wet = mask_of(wet, "wet", m);
  p.enabled = mask_of(enabled, "enabled", m);
  p.open_fraction = optional_numbers_of(open_fraction, "open_fraction", m, false);
  p.object_velocity = tet_velocities_of(object_velocity, "object_velocity", m);
  p.boundary = boundary;
  p.open_vertices = mask_of(open_vertices, "open_vertices", n);
  p.density = density;
  p.min_open = min_open;
  p.min_aspect = min_aspect;
  p.pressure = optional_numbers_of(pressure, "pressure", n, true);
  p.warm_start = warm_start;
  fluids::TetProjectionOptions options;
  options.solve = solve;
  options.accept_unconverged = accept_unconverged;
  fluids::TetProjectionReport report;
  interruptible([&] { solver.project(p, dt, options, report); });
  py::list regions;
  for (const auto& r : report.regions) regions.append(py::make_tuple(r.vertices, r.closed, r.first_vertex, r.flux, r.residual));
  return py::make_tuple(report.solve, report.setup_seconds, py::make_tuple(report.levels, report.operator_complexity),
                        py::make_tuple(report.wet_tets, report.excluded_tets), regions);
}

}  // namespace

void bind_tet_projection(py::module_& m) {
  using py::arg;
  py::native_enum<fluids::TetBoundary>(m, "TetBoundary", "enum.Enum")
      .value("open", fluids::TetBoundary::open)
      .value("wall", fluids::TetBoundary::wall)
      .finalize();
  py::class_<TetPressureSolver>(m, "TetPressureSolver")
      .def(py::init(&make_tet_pressure_solver), arg("tets"), arg("vertices"))
      .def_property_readonly("bytes", &TetPressureSolver::bytes)
      .def("project", &project_tets, arg("positions"), arg("velocity"), arg("dt"), arg("wet"), arg("enabled"),
           arg("open_fraction"), arg("object_velocity"), arg("boundary"), arg("open_vertices"), arg("density"), arg("min_open"),
           arg("min_aspect"), arg("pressure"), arg("warm_start"), arg("solve"), arg("accept_unconverged"));
}

}  // namespace meniscus::bindings
