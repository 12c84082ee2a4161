// Viscosity problems and their solvers.
#include "fluids/body_owners.hpp"

#include "meniscus/fluids/viscosity/free_surface_viscosity.hpp"
#include "meniscus/fluids/viscosity/viscosity.hpp"

namespace meniscus::bindings {
namespace {

template <class T, int D>
fluids::ViscosityProblem<T, D> make_viscosity_problem(double viscosity, Field<T, D>* viscosity_field,
                                                      grid::SolidBoundary<T, D>* solid, Field<T, D>* liquid, double air_viscosity,
                                                      double air_density, double time, double density, Field<double, D>* pressure,
                                                      fluids::MovingBodies* bodies,
                                                      const std::optional<std::array<py::array, D>>& owners) {
  require(!bodies || solid, "bodies that the stresses of a fluid move need their level set as `solid`");
  return {.viscosity = viscosity,
          .viscosity_field = viscosity_field,
          .solid = solid,
          .liquid = liquid,
          .air_viscosity = air_viscosity,
          .air_density = air_density,
          .time = time,
          .density = density,
          .pressure = pressure,
          .bodies = bodies,
          .owners = body_owners<D>(solid ? solid->grid().local_shape() : Coord<D>{}, bodies, owners)};
}

/// The fields of a problem live as long as its Python object.
template <class T, int D>
void bind_viscosity_problem(py::module_& m, const char* name) {
  using py::arg;
  const auto none = py::none();
  py::class_<fluids::ViscosityProblem<T, D>>(m, name).def(
      py::init(&make_viscosity_problem<T, D>), arg("viscosity") = 0.0, arg("viscosity_field") = none, arg("solid") = none,
      arg("liquid") = none, arg("air_viscosity") = 0.0, arg("air_density") = 0.0, arg("time") = 0.0, arg("density") = 1.0,
      arg("pressure") = none, arg("bodies") = none, arg("owners") = none, py::keep_alive<1, 3>(), py::keep_alive<1, 4>(),
      py::keep_alive<1, 5>(), py::keep_alive<1, 10>(), py::keep_alive<1, 11>(), py::keep_alive<1, 12>());
}

}  // namespace

void bind_viscosity(py::module_& m) {
  bind_viscosity_problem<double, 2>(m, "ViscosityProblem2d");
  bind_viscosity_problem<float, 3>(m, "ViscosityProblem3f");
  bind_viscosity_problem<double, 3>(m, "ViscosityProblem3d");
  using fluids::LiquidViscositySolver, fluids::ViscositySolver;
  const auto gas2 =
      py::class_<ViscositySolver<2>>(m, "ViscositySolver2").def_property_readonly("bytes", &ViscositySolver<2>::bytes);
  const auto gas3 =
      py::class_<ViscositySolver<3>>(m, "ViscositySolver3").def_property_readonly("bytes", &ViscositySolver<3>::bytes);
  const auto liquid2 = py::class_<LiquidViscositySolver<2>>(m, "LiquidViscositySolver2")
                           .def_property_readonly("bytes", &LiquidViscositySolver<2>::bytes);
  const auto liquid3 = py::class_<LiquidViscositySolver<3>>(m, "LiquidViscositySolver3")
                           .def_property_readonly("bytes", &LiquidViscositySolver<3>::bytes);
  def_dimensions(
      m, "new_viscosity_solver", []<int D>(const grid::Grid<D>& grid) { return std::make_unique<ViscositySolver<D>>(grid); },
      py::arg("grid"));
  def_dimensions(
      m, "new_liquid_viscosity_solver",
      []<int D>(const grid::Grid<D>& grid) { return std::make_unique<LiquidViscositySolver<D>>(grid); }, py::arg("grid"));
  // Whether all components converged, and how the solve of each went.
  def_field_methods(
      {gas2, gas3}, "diffuse",
      []<class T, int D>(ViscositySolver<D>& solver, MacField<T, D>& velocity, double dt,
                         const fluids::ViscosityProblem<T, D>& problem, const numerics::SolveOptions& options) {
        std::array<numerics::SolveInfo, D> infos;
        const bool converged = interruptible([&] { return solver.diffuse(velocity, dt, problem, options, infos); });
        return std::pair{converged, std::vector<numerics::SolveInfo>(infos.begin(), infos.end())};
      },
      py::arg("velocity"), py::arg("dt"), py::arg("problem"), py::arg("options"));
  def_field_methods(
      {liquid2, liquid3}, "diffuse",
      []<class T, int D>(LiquidViscositySolver<D>& solver, MacField<T, D>& velocity, double dt,
                         const fluids::ViscosityProblem<T, D>& problem, const numerics::SolveOptions& options) {
        numerics::SolveInfo info;
        interruptible([&] { solver.diffuse(velocity, dt, problem, options, info); });
        return info;
      },
      py::arg("velocity"), py::arg("dt"), py::arg("problem"), py::arg("options"));
}

}  // namespace meniscus::bindings
