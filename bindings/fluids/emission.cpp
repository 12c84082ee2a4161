// Emission and body forces.
#include "any_field.hpp"
#include "vectors.hpp"

#include "meniscus/fluids/flows/body_force.hpp"
#include "meniscus/fluids/flows/emission.hpp"

namespace meniscus::bindings {
namespace {

void bind_emission_functions(py::module_& m) {
  def_fields(
      m, "emit",
      []<class T, int D>(const Field<T, D>& region, fluids::EmissionRule rule, double value, Field<T, D>& field) {
        interruptible([&] { fluids::emit(region, rule, value, field); });
      },
      py::arg("region"), py::arg("rule"), py::arg("value"), py::arg("field"));
  def_fields(
      m, "emit_velocity",
      []<class T, int D>(Field<T, D>& region, const std::array<double, D>& value, MacField<T, D>& velocity) {
        interruptible([&] { fluids::emit_velocity<T, D>(region, vector_of<D>(value), velocity); });
      },
      py::arg("region"), py::arg("value"), py::arg("velocity"));
  def_fields(
      m, "add_acceleration",
      []<class T, int D>(MacField<T, D>& velocity, const std::array<double, D>& acceleration, double dt) {
        interruptible([&] { fluids::add_acceleration<T, D>(velocity, vector_of<D>(acceleration), dt); });
      },
      py::arg("velocity"), py::arg("acceleration"), py::arg("dt"));
}

}  // namespace

void bind_emission(py::module_& m) {
  py::native_enum<fluids::EmissionRule>(m, "EmissionRule", "enum.Enum")
      .value("raise_to", fluids::EmissionRule::raise)
      .value("add", fluids::EmissionRule::add)
      .value("set", fluids::EmissionRule::set)
      .finalize();
  bind_emission_functions(m);
}

}  // namespace meniscus::bindings
