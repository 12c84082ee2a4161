// Viscosity problems and their solvers.
#include "bridge.hpp"

#include "meniscus/fluids/viscosity/free_surface_viscosity.hpp"
#include "meniscus/fluids/viscosity/viscosity.hpp"

namespace meniscus::bindings {
namespace {

template <class T, int D>
fluids::ViscosityProblem<T, D> make_viscosity_problem(double viscosity, grid::Field<T, D>* viscosity_field,
                                                      const grid::SolidBoundary<T, D>* solid, grid::Field<T, D>* liquid,
                                                      double air_viscosity, double air_density, double time) {
  return {viscosity, viscosity_field, solid, liquid, air_viscosity, air_density, time};
}

/// The fields of a problem live as long as its Python object.
template <class T, int D>
void bind_viscosity_problem(py::module_& m, const char* name) {
  using py::arg;
  const auto none = py::none();
  py::class_<fluids::ViscosityProblem<T, D>>(m, name).def(
      py::init(&make_viscosity_problem<T, D>), arg("viscosity") = 0.0, arg("viscosity_field") = none, arg("solid") = none,
      arg("liquid") = none, arg("air_viscosity") = 0.0, arg("air_density") = 0.0, arg("time") = 0.0, py::keep_alive<1, 3>(),
      py::keep_alive<1, 4>(), py::keep_alive<1, 5>());
}

/// Whether all components converged, and how the solve of each went.
template <class T, int D>
std::pair<bool, std::array<numerics::SolveInfo, D>> diffuse(fluids::ViscositySolver<D>& solver, grid::MacField<T, D>& velocity,
                                                            double dt, const fluids::ViscosityProblem<T, D>& problem,
                                                            const numerics::SolveOptions& options) {
  std::array<numerics::SolveInfo, D> infos;
  const bool converged = interruptible([&] { return solver.diffuse(velocity, dt, problem, options, infos); });
  return {converged, infos};
}

template <class T, int D>
numerics::SolveInfo diffuse_liquid(fluids::LiquidViscositySolver<D>& solver, grid::MacField<T, D>& velocity, double dt,
                                   const fluids::ViscosityProblem<T, D>& problem, const numerics::SolveOptions& options) {
  numerics::SolveInfo info;
  interruptible([&] { solver.diffuse(velocity, dt, problem, options, info); });
  return info;
}

template <int D>
void bind_viscosity_solvers(py::module_& m, const char* gas_name, const char* liquid_name) {
  using py::arg;
  using Gas = fluids::ViscositySolver<D>;
  py::class_<Gas> gas(m, gas_name);
  gas.def(py::init<const grid::Grid<D>&>(), arg("grid"))
      .def_property_readonly("bytes", &Gas::bytes)
      .def("diffuse", &diffuse<double, D>, arg("velocity"), arg("dt"), arg("problem"), arg("options"));
  using Liquid = fluids::LiquidViscositySolver<D>;
  py::class_<Liquid> liquid(m, liquid_name);
  liquid.def(py::init<const grid::Grid<D>&>(), arg("grid"))
      .def_property_readonly("bytes", &Liquid::bytes)
      .def("diffuse", &diffuse_liquid<double, D>, arg("velocity"), arg("dt"), arg("problem"), arg("options"));
  if constexpr (D == 3) {
    gas.def("diffuse", &diffuse<float, D>, arg("velocity"), arg("dt"), arg("problem"), arg("options"));
    liquid.def("diffuse", &diffuse_liquid<float, D>, arg("velocity"), arg("dt"), arg("problem"), arg("options"));
  }
}

}  // namespace

void bind_viscosity(py::module_& m) {
  bind_viscosity_problem<double, 2>(m, "ViscosityProblem2d");
  bind_viscosity_problem<float, 3>(m, "ViscosityProblem3f");
  bind_viscosity_problem<double, 3>(m, "ViscosityProblem3d");
  bind_viscosity_solvers<2>(m, "ViscositySolver2", "LiquidViscositySolver2");
  bind_viscosity_solvers<3>(m, "ViscositySolver3", "LiquidViscositySolver3");
}

}  // namespace meniscus::bindings
