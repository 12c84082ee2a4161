// Buoyancy of smoke.
#include "bridge.hpp"
#include "vectors.hpp"

#include "meniscus/fluids/gas/buoyancy.hpp"

namespace meniscus::bindings {
namespace {

template <int D>
fluids::Buoyancy<D> make_buoyancy(const std::array<double, D>& up, double density_weight, double temperature_weight,
                                  double ambient) {
  return {vector_of<D>(up), density_weight, temperature_weight, ambient};
}

template <class T, int D>
void add_smoke_buoyancy(grid::MacField<T, D>& velocity, grid::Field<T, D>* density, grid::Field<T, D>* temperature,
                        const fluids::Buoyancy<D>& buoyancy, double dt, double time) {
  interruptible([&] { fluids::add_buoyancy(velocity, density, temperature, buoyancy, dt, time); });
}

template <int D>
void bind_buoyancy_types(py::module_& m, const char* name) {
  using py::arg;
  py::class_<fluids::Buoyancy<D>>(m, name).def(py::init(&make_buoyancy<D>), arg("up"), arg("density_weight"),
                                               arg("temperature_weight"), arg("ambient"));
  if constexpr (D == 3)
    m.def("add_buoyancy", &add_smoke_buoyancy<float, D>, arg("velocity"), arg("density"), arg("temperature"), arg("buoyancy"),
          arg("dt"), arg("time"));
  m.def("add_buoyancy", &add_smoke_buoyancy<double, D>, arg("velocity"), arg("density"), arg("temperature"), arg("buoyancy"),
        arg("dt"), arg("time"));
}

}  // namespace

void bind_buoyancy(py::module_& m) {
  bind_buoyancy_types<2>(m, "Buoyancy2");
  bind_buoyancy_types<3>(m, "Buoyancy3");
}

}  // namespace meniscus::bindings
