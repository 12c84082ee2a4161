// Buoyancy of smoke.
#include "any_field.hpp"
#include "vectors.hpp"

#include "meniscus/fluids/gas/buoyancy.hpp"

namespace meniscus::bindings {

void bind_buoyancy(py::module_& m) {
  py::class_<fluids::Buoyancy<2>>(m, "Buoyancy2");
  py::class_<fluids::Buoyancy<3>>(m, "Buoyancy3");
  def_dimensions(
      m, "new_buoyancy",
      []<int D>(const std::array<double, D>& up, double density_weight, double temperature_weight, double ambient) {
        return fluids::Buoyancy<D>{vector_of<D>(up), density_weight, temperature_weight, ambient};
      },
      py::arg("up"), py::arg("density_weight"), py::arg("temperature_weight"), py::arg("ambient"));
  def_fields(
      m, "add_buoyancy",
      []<class T, int D>(MacField<T, D>& velocity, Field<T, D>* density, Field<T, D>* temperature,
                         const fluids::Buoyancy<D>& buoyancy, double dt, double time) {
        interruptible([&] { fluids::add_buoyancy(velocity, density, temperature, buoyancy, dt, time); });
      },
      py::arg("velocity"), py::arg("density"), py::arg("temperature"), py::arg("buoyancy"), py::arg("dt"), py::arg("time"));
}

}  // namespace meniscus::bindings
