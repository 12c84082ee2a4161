#include "bridge.hpp"

#include "meniscus/fluids/gas/buoyancy.hpp"
#include "meniscus/fluids/viscosity/free_surface_viscosity.hpp"
#include "meniscus/fluids/viscosity/viscosity.hpp"

namespace meniscus::bindings {
namespace {

template <class T, int D>
void bind_gas_scalar(py::module_& m, py::class_<fluids::ViscositySolver<D>>& viscosity) {
  m.def(
      "add_buoyancy",
      [](grid::MacField<T, D>& velocity, grid::Field<T, D>* density, grid::Field<T, D>* temperature,
         const std::array<double, D>& up, double density_weight, double temperature_weight, double ambient, double dt,
         double time) {
        fluids::Buoyancy<D> b;
        b.up = Eigen::Map<const Vec<double, D>>(up.data());
        b.density_weight = density_weight;
        b.temperature_weight = temperature_weight;
        b.ambient = ambient;
        interruptible([&] { fluids::add_buoyancy(velocity, density, temperature, b, dt, time); });
      },
      py::arg("velocity"), py::arg("density").none(true), py::arg("temperature").none(true), py::arg("up"),
      py::arg("density_weight"), py::arg("temperature_weight"), py::arg("ambient"), py::arg("dt"), py::arg("time"));
  viscosity.def(
      "diffuse",
      [](fluids::ViscositySolver<D>& solver, grid::MacField<T, D>& velocity, double dt, double nu,
         const grid::Field<double, D>* solid, const grid::MacField<T, D>* solid_velocity, const grid::Field<T, D>* liquid,
         bool sticky, double time, const numerics::SolveOptions& options) {
        std::array<numerics::SolveInfo, D> infos;
        const bool converged = interruptible(
            [&] { return solver.diffuse(velocity, dt, nu, solid, solid_velocity, liquid, sticky, time, options, infos); });
        return py::make_tuple(converged, std::vector<numerics::SolveInfo>(infos.begin(), infos.end()));
      },
      py::arg("velocity"), py::arg("dt"), py::arg("viscosity"), py::arg("solid").none(true), py::arg("solid_velocity").none(true),
      py::arg("liquid").none(true), py::arg("sticky"), py::arg("time"), py::arg("options"));
}

template <class T, int D>
void bind_liquid_viscosity(py::class_<fluids::FreeSurfaceViscosity<D>>& viscosity) {
  viscosity.def(
      "diffuse",
      [](fluids::FreeSurfaceViscosity<D>& solver, grid::MacField<T, D>& velocity, double dt, double nu,
         const grid::Field<T, D>* nus, const grid::Field<double, D>* solid, const grid::MacField<T, D>* solid_velocity,
         const grid::Field<T, D>* liquid, bool sticky, double time, const numerics::SolveOptions& options) {
        numerics::SolveInfo info;
        const typename fluids::FreeSurfaceViscosity<D>::template Problem<T> problem{dt,     nu,     nus, solid, solid_velocity,
                                                                                    liquid, sticky, time};
        interruptible([&] { return solver.diffuse(velocity, problem, options, info); });
        return info;
      },
      py::arg("velocity"), py::arg("dt"), py::arg("viscosity"), py::arg("viscosities").none(true), py::arg("solid").none(true),
      py::arg("solid_velocity").none(true), py::arg("liquid").none(true), py::arg("sticky"), py::arg("time"), py::arg("options"));
}

template <int D>
void bind_gas_dimension(py::module_& m, const char* name) {
  py::class_<fluids::ViscositySolver<D>> viscosity(m, name);
  viscosity.def(py::init<const grid::Grid<D>&>(), py::arg("grid"))
      .def_property_readonly("bytes", &fluids::ViscositySolver<D>::bytes);
  bind_gas_scalar<float, D>(m, viscosity);
  bind_gas_scalar<double, D>(m, viscosity);
  using Liquid = fluids::FreeSurfaceViscosity<D>;
  py::class_<Liquid> liquid(m, D == 2 ? "LiquidViscositySolver2" : "LiquidViscositySolver3");
  liquid.def(py::init<const grid::Grid<D>&>(), py::arg("grid")).def_property_readonly("bytes", &Liquid::bytes);
  bind_liquid_viscosity<float, D>(liquid);
  bind_liquid_viscosity<double, D>(liquid);
}

}  // namespace

void bind_gas(py::module_& m) {
  bind_gas_dimension<2>(m, "ViscositySolver2");
  bind_gas_dimension<3>(m, "ViscositySolver3");
}

}  // namespace meniscus::bindings
