// Pressure problems and their solver.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/fluids/pressure/projection.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

template <class T, int D>
fluids::PressureProblem<T, D> make_pressure_problem(const grid::Grid<D>& grid, double density, const Field<T, D>* density_field,
                                                    grid::SolidBoundary<T, D>* solid, const Field<T, D>* liquid,
                                                    const std::optional<py::array>& liquid_mask,
                                                    const std::optional<std::array<py::array, D>>& given_faces,
                                                    double air_pressure, const std::optional<py::array>& solved_air,
                                                    double air_density, const Field<T, D>* surface_pressure,
                                                    const Field<T, D>* target_divergence, Field<double, D>* pressure,
                                                    bool warm_start, double time, const std::array<double, D>& acceleration) {
  fluids::PressureProblem<T, D> p;
  p.density = density;
  p.density_field = density_field;
  p.solid = solid;
  p.liquid = liquid;
  if (liquid_mask) p.liquid_mask = mask_of(*liquid_mask, "liquid", product<D>(grid.local_shape()));
  if (given_faces) p.given_faces = face_masks_of<D>(*given_faces, "given_faces", grid.local_shape());
  p.air_pressure = air_pressure;
  if (solved_air) p.solved_air = mask_of(*solved_air, "solved_air", product<D>(grid.local_shape()));
  p.air_density = air_density;
  p.surface_pressure = surface_pressure;
  p.target_divergence = target_divergence;
  p.pressure = pressure;
  p.warm_start = warm_start;
  p.time = time;
  p.acceleration = Eigen::Map<const Vec<double, D>>(acceleration.data());
  return p;
}

/// The fields and arrays of a problem live as long as its Python object.
template <class T, int D>
void bind_pressure_problem(py::module_& m, const char* name) {
  using py::arg;
  const auto none = py::none();
  py::class_<fluids::PressureProblem<T, D>>(m, name).def(
      py::init(&make_pressure_problem<T, D>), arg("grid"), arg("density") = 1.0, arg("density_field") = none, arg("solid") = none,
      arg("liquid") = none, arg("liquid_mask") = none, arg("given_faces") = none, arg("air_pressure") = 0.0,
      arg("solved_air") = none, arg("air_density") = 1.2, arg("surface_pressure") = none, arg("target_divergence") = none,
      arg("pressure") = none, arg("warm_start") = false, arg("time") = 0.0, arg("acceleration") = std::array<double, D>{},
      py::keep_alive<1, 4>(), py::keep_alive<1, 5>(), py::keep_alive<1, 6>(), py::keep_alive<1, 7>(), py::keep_alive<1, 8>(),
      py::keep_alive<1, 10>(), py::keep_alive<1, 12>(), py::keep_alive<1, 13>(), py::keep_alive<1, 14>());
}

/// Facts about the solve, seconds of setup, and (cells, closed, first cell, flux, residual) of each region.
template <int D>
py::tuple pressure_report(const fluids::ProjectionReport<D>& report) {
  py::list regions;
  for (const auto& r : report.regions) regions.append(py::make_tuple(r.cells, r.closed, r.first_cell, r.flux, r.residual));
  return py::make_tuple(report.solve, report.setup_seconds, regions);
}

}  // namespace

void bind_pressure(py::module_& m) {
  py::native_enum<fluids::FluxCorrection>(m, "FluxCorrection", "enum.Enum")
      .value("volume", fluids::FluxCorrection::volume)
      .value("walls", fluids::FluxCorrection::walls)
      .finalize();
  py::class_<fluids::ProjectionOptions>(m, "ProjectionOptions")
      .def(py::init<const numerics::SolveOptions&, fluids::FluxCorrection, bool>(), py::arg("solve"), py::arg("flux_correction"),
           py::arg("accept_unconverged"));
  bind_pressure_problem<double, 2>(m, "PressureProblem2d");
  bind_pressure_problem<float, 3>(m, "PressureProblem3f");
  bind_pressure_problem<double, 3>(m, "PressureProblem3d");
  const auto solver2 = py::class_<fluids::PressureSolver<2>>(m, "PressureSolver2")
                           .def_property_readonly("bytes", &fluids::PressureSolver<2>::bytes);
  const auto solver3 = py::class_<fluids::PressureSolver<3>>(m, "PressureSolver3")
                           .def_property_readonly("bytes", &fluids::PressureSolver<3>::bytes);
  def_dimensions(
      m, "new_pressure_solver",
      []<int D>(const grid::Grid<D>& grid) { return std::make_unique<fluids::PressureSolver<D>>(grid); }, py::arg("grid"));
  def_field_methods(
      {solver2, solver3}, "project",
      []<class T, int D>(fluids::PressureSolver<D>& solver, MacField<T, D>& velocity, double dt,
                         const fluids::PressureProblem<T, D>& problem, const fluids::ProjectionOptions& options) {
        fluids::ProjectionReport<D> report;
        interruptible([&] { solver.project(velocity, dt, problem, options, report); });
        return pressure_report(report);
      },
      py::arg("velocity"), py::arg("dt"), py::arg("problem"), py::arg("options"));
  def_field_methods(
      {solver2, solver3}, "divergence",
      []<class T, int D>(fluids::PressureSolver<D>& solver, const MacField<T, D>& velocity, grid::SolidBoundary<T, D>* solid,
                         Field<T, D>& out) { interruptible([&] { solver.divergence(velocity, solid, out); }); },
      py::arg("velocity"), py::arg("solid"), py::arg("out"));
}

}  // namespace meniscus::bindings
