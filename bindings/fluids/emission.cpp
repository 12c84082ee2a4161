// Emission, body forces, and masks of solids.
#include "bridge.hpp"

#include "meniscus/fluids/flows/body_force.hpp"
#include "meniscus/fluids/flows/emission.hpp"
#include "meniscus/fluids/pressure/solid_masks.hpp"

namespace meniscus::bindings {
namespace {

template <int D>
Vec<double, D> vector_of(const std::array<double, D>& v) {
  return Eigen::Map<const Vec<double, D>>(v.data());
}

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

template <int D>
void bind_solid_masks(py::module_& m) {
  m.def(
      "mark_solid",
      [](const grid::Field<double, D>& levelset, const py::array& outside_cells, const std::array<py::array, D>& open_faces,
         const std::array<py::array, D>& inside_faces) {
        const auto flags = [](const py::array& a, const char* name, const Coord<D>& extents) {
          return reinterpret_cast<std::uint8_t*>(data_of<bool>(a, name, product<D>(extents), true));
        };
        const Coord<D>& cells = levelset.grid().local_shape();
        fluids::SolidMasks<D> masks;
        masks.outside_cells = flags(outside_cells, "outside_cells", cells);
        for (int d = 0; d < D; ++d) {
          const auto i = static_cast<std::size_t>(d);
          const Coord<D> faces = grid::Stagger<D>::face(d).extents(cells);
          masks.open_faces[i] = flags(open_faces[i], "open_faces", faces);
          masks.inside_faces[i] = flags(inside_faces[i], "inside_faces", faces);
        }
        interruptible([&] { fluids::mark_solid<D>(levelset, masks); });
      },
      py::arg("levelset"), py::arg("outside_cells"), py::arg("open_faces"), py::arg("inside_faces"));
}

}  // namespace

void bind_emission(py::module_& m) {
  py::enum_<fluids::EmissionRule>(m, "EmissionRule")
      .value("raise_to", fluids::EmissionRule::raise)
      .value("add", fluids::EmissionRule::add)
      .value("set", fluids::EmissionRule::set);
  bind_emission_functions<float, 2>(m);
  bind_emission_functions<double, 2>(m);
  bind_emission_functions<float, 3>(m);
  bind_emission_functions<double, 3>(m);
  bind_solid_masks<2>(m);
  bind_solid_masks<3>(m);
}

}  // namespace meniscus::bindings
