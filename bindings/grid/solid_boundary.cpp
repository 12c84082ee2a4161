// Solid boundaries on a grid, and their velocities on faces.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/grid/poisson/face_fractions.hpp"
#include "meniscus/grid/solid_boundary.hpp"

namespace meniscus::bindings {
namespace {

template <class T, int D>
using Solid = grid::SolidBoundary<T, D>;

template <class T, int D>
py::array outside_cells(Solid<T, D>& solid) {
  return mask_view<D>(solid.masks().outside_cells, solid.grid().local_shape());
}

template <class T, int D>
py::tuple face_masks(Solid<T, D>& solid, const std::array<Block<std::uint8_t>, D>& masks) {
  py::tuple views(D);
  for (int d = 0; d < D; ++d) views[d] = mask_view<D>(masks[d], grid::Stagger<D>::face(d).extents(solid.grid().local_shape()));
  return views;
}

template <class T, int D>
double max_speed(Solid<T, D>& solid) {
  return interruptible([&] { return grid::max_component_speed(solid); });
}

template <class T, int D>
void bind_boundary(py::module_& m, const char* name) {
  using S = Solid<T, D>;
  py::class_<S>(m, name)
      .def("levelset_changed", &S::levelset_changed)
      .def_property_readonly("outside_cells", &outside_cells<T, D>)
      .def_property_readonly("open_faces", [](S& s) { return face_masks<T, D>(s, s.masks().open_faces); })
      .def_property_readonly("inside_faces", [](S& s) { return face_masks<T, D>(s, s.masks().inside_faces); })
      .def_property_readonly("bytes", &S::bytes)
      .def("max_speed", &max_speed<T, D>);
}

}  // namespace

void bind_solid_boundary(py::module_& m) {
  py::native_enum<grid::Slip>(m, "Slip", "enum.Enum")
      .value("free", grid::Slip::free)
      .value("no_slip", grid::Slip::no_slip)
      .finalize();
  bind_boundary<double, 2>(m, "SolidBoundary2d");
  bind_boundary<float, 3>(m, "SolidBoundary3f");
  bind_boundary<double, 3>(m, "SolidBoundary3d");
  def_fields(
      m, "new_solid_boundary",
      []<class T, int D>(Field<double, D>& levelset, MacField<T, D>* velocity, grid::Slip slip, ScalarType<T>) {
        return std::make_unique<Solid<T, D>>(levelset, velocity, slip);
      },
      py::arg("levelset"), py::arg("velocity"), py::arg("slip"), py::arg("dtype"), py::keep_alive<0, 1>(),
      py::keep_alive<0, 2>());
  def_fields(
      m, "set_solid_velocity",
      []<class T, int D>(MacField<T, D>& velocity, Solid<T, D>& solid) {
        interruptible([&] { grid::set_solid_velocity(velocity, solid); });
      },
      py::arg("velocity"), py::arg("solid"));
  def_samples(
      m, "continue_into_solid",
      []<template <class, int> class Samples, class T, int D>(Samples<T, D>& field, Solid<T, D>& solid, Workspace& workspace) {
        interruptible([&] { grid::continue_into_solid(field, solid, workspace); });
      },
      py::arg("field"), py::arg("solid"), py::arg("workspace"));
  def_fields(
      m, "continue_level_set_into_solid",
      []<class T, int D>(Field<T, D>& levelset, Solid<T, D>& solid, Workspace& workspace) {
        interruptible([&] { grid::continue_level_set_into_solid(levelset, solid, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("workspace"));
  def_dimensions(
      m, "open_fractions",
      []<int D>(const Field<double, D>& levelset, int axis) {
        const Coord<D> n = grid::Stagger<D>::face(axis).extents(levelset.grid().local_shape());
        py::array_t<double> out(std::vector<py::ssize_t>(n.begin(), n.end()));
        double* to = out.mutable_data();
        interruptible([&] { grid::open_fractions_across<D>(levelset, axis, to); });
        return out;
      },
      py::arg("levelset"), py::arg("axis"));
}

}  // namespace meniscus::bindings
