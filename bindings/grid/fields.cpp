// Fields and staggered vector fields.
#include "any_field.hpp"

#include <algorithm>

namespace meniscus::bindings {
namespace {

template <int D>
grid::Boundary<D> boundary_of(const std::vector<SideHandle>& sides) {
  require(sides.size() == 2 * D, "a boundary needs ", 2 * D, " sides, got ", sides.size());
  grid::Boundary<D> b;
  std::transform(sides.begin(), sides.end(), b.begin(), [](const SideHandle& s) { return s.condition; });
  return b;
}

template <class T, int D>
py::array interior(Field<T, D>& f) {
  const grid::FieldView<T, D> v = f.view();
  return view(v.origin, v.extents, v.strides, f.storage().memory());
}

template <class T, int D>
py::array whole(Field<T, D>& f) {
  const Coord<D> padded = f.layout().padded();
  return view(f.storage().data(), padded, c_strides<D>(padded), f.storage().memory());
}

template <class T, int D>
void bind_field_types(py::module_& m, const std::string& suffix) {
  using F = Field<T, D>;
  using M = MacField<T, D>;
  py::class_<F>(m, ("Field" + suffix).c_str())
      .def("array", &interior<T, D>)
      .def("with_ghosts", &whole<T, D>)
      .def("fill_ghosts", [](F& f, double time) { interruptible([&] { f.fill_ghosts(time); }); }, py::arg("time"));
  py::class_<M>(m, ("MacField" + suffix).c_str())
      .def(
          "component", [](M& f, int axis) -> F& { return f.component(axis); }, py::arg("axis"),
          py::return_value_policy::reference_internal)
      .def(
          "array", [](M& f, int axis) { return interior<T, D>(f.component(axis)); }, py::arg("axis"))
      .def(
          "with_ghosts", [](M& f, int axis) { return whole<T, D>(f.component(axis)); }, py::arg("axis"))
      .def(
          "fill_ghosts", [](M& f, double time) { interruptible([&] { f.fill_ghosts(time); }); }, py::arg("time"))
      .def("enforce_boundary", [](M& f, double time) { interruptible([&] { f.enforce_boundary(time); }); }, py::arg("time"));
}

}  // namespace

void bind_fields(py::module_& m) {
  m.attr("GHOST_WIDTH") = grid::ghost_width;
  bind_field_types<double, 2>(m, "2d");
  bind_field_types<float, 3>(m, "3f");
  bind_field_types<double, 3>(m, "3d");
  def_fields(
      m, "new_field",
      []<class T, int D>(const grid::Grid<D>& grid, const std::array<int, D>& on_side, const std::vector<SideHandle>& boundary,
                         ScalarType<T>) { return Field<T, D>(grid, grid::Stagger<D>{on_side}, boundary_of<D>(boundary)); },
      py::arg("grid"), py::arg("on_side"), py::arg("boundary"), py::arg("dtype"));
  def_fields(
      m, "new_velocity",
      []<class T, int D>(const grid::Grid<D>& grid, const std::vector<SideHandle>& boundary, ScalarType<T>) {
        return std::make_unique<MacField<T, D>>(grid, boundary_of<D>(boundary));
      },
      py::arg("grid"), py::arg("boundary"), py::arg("dtype"));
}

}  // namespace meniscus::bindings
