// Emission, body forces, and what they do in half a step.
#include "any_field.hpp"
#include "masks.hpp"
#include "vectors.hpp"

#include "meniscus/fluids/flows/body_force.hpp"
#include "meniscus/fluids/flows/emission.hpp"
#include "meniscus/fluids/flows/half_step.hpp"

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
  def_fields(
      m, "take_half_back",
      []<class T, int D>(MacField<T, D>& velocity, MacField<T, D>& change, const std::array<py::array, D>& known,
                         const std::optional<std::array<py::array, D>>& closed, double dt, double largest) {
        const auto valid = face_masks_of<D>(known, "known", velocity.grid().local_shape());
        std::array<const std::uint8_t*, D> shut{};
        if (closed) shut = face_masks_of<D>(*closed, "closed", velocity.grid().local_shape());
        interruptible([&] { fluids::take_half_back<T, D>(velocity, change, valid, shut, dt, largest); });
      },
      py::arg("velocity"), py::arg("change"), py::arg("known"), py::arg("closed"), py::arg("dt"), py::arg("largest"));
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
