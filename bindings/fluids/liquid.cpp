#include "bridge.hpp"

#include "meniscus/fluids/liquid/liquid_components.hpp"

namespace meniscus::bindings {
namespace {

template <class T, int D>
void bind_liquid_scalar(py::module_& m) {
  m.def(
      "liquid_faces",
      [](const grid::Field<T, D>& liquid, int axis, const py::array& wet) {
        Coord<D> faces = liquid.extents();
        ++faces[static_cast<std::size_t>(axis)];
        auto* out = reinterpret_cast<std::uint8_t*>(data_of<bool>(wet, "wet", product<D>(faces), true));
        interruptible([&] { fluids::liquid_faces<T, D>(liquid, axis, out); });
      },
      py::arg("liquid"), py::arg("axis"), py::arg("wet"));
  m.def(
      "component_origins",
      [](const grid::MacField<T, D>& velocity, double dt, const py::array& before, const py::array& now,
         const py::array& origin) {
        const Index n = product<D>(velocity.grid().local_shape());
        const auto* old_labels = data_of<std::int32_t>(before, "before", n);
        const auto* new_labels = data_of<std::int32_t>(now, "now", n);
        auto* out = data_of<std::int32_t>(origin, "origin", n, true);
        interruptible([&] { fluids::component_origins<T, D>(velocity, dt, old_labels, new_labels, out); });
      },
      py::arg("velocity"), py::arg("dt"), py::arg("before"), py::arg("now"), py::arg("origin"));
}

template <int D>
void bind_liquid_dimension(py::module_& m) {
  bind_liquid_scalar<float, D>(m);
  bind_liquid_scalar<double, D>(m);
  m.def(
      "spread_labels",
      [](const grid::Grid<D>& grid, const py::array& labels, int layers, Workspace& workspace) {
        auto* l = data_of<std::int32_t>(labels, "labels", product<D>(grid.local_shape()), true);
        interruptible([&] { fluids::spread_labels<D>(grid, l, layers, workspace); });
      },
      py::arg("grid"), py::arg("labels"), py::arg("layers"), py::arg("workspace"));
}

}  // namespace

void bind_liquid(py::module_& m) {
  bind_liquid_dimension<2>(m);
  bind_liquid_dimension<3>(m);
}

}  // namespace meniscus::bindings
