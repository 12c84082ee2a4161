// Emission and body forces.
#include "bridge.hpp"
#include "vectors.hpp"

#include "meniscus/fluids/flows/body_force.hpp"
#include "meniscus/fluids/flows/emission.hpp"

namespace meniscus::bindings {
namespace {

template <class T, int D>
void bind_emission_functions(py::module_& m) {
  using F = grid::Field<T, D>;
  using M = grid::MacField<T, D>;
  m.def(
      "emit",
      [](const F& region, fluids::EmissionRule rule, double value, F& field) {
        interruptible([&] { fluids::emit(region, rule, value, field); });
      },
      py::arg("region"), py::arg("rule"), py::arg("value"), py::arg("field"));
  m.def(
      "emit_velocity",
      [](F& region, const std::array<double, D>& value, M& velocity) {
        interruptible([&] { fluids::emit_velocity<T, D>(region, vector_of<D>(value), velocity); });
      },
      py::arg("region"), py::arg("value"), py::arg("velocity"));
  m.def(
      "add_acceleration",
      [](M& velocity, const std::array<double, D>& acceleration, double dt) {
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
  bind_emission_functions<double, 2>(m);
  bind_emission_functions<float, 3>(m);
  bind_emission_functions<double, 3>(m);
}

}  // namespace meniscus::bindings
