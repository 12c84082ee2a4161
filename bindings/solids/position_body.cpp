// Position based dynamics.
#include "solids/position_arrays.hpp"

#include "meniscus/solids/position/position_constraints.hpp"

namespace meniscus::bindings {
namespace {

using solids::PositionConstraintKind;
using solids::PositionNode;

template <class T>
void bind_for(py::module_& m, const char* name) {
  using C = solids::PositionConstraints<T>;
  py::class_<C>(m, name)
      .def(py::init([](PositionConstraintKind kind, const py::array& nodes, const py::array& values, const py::array& fixed) {
             return solids::make_position_constraints<T>(kind, flat<std::int32_t>(nodes, "nodes"), flat<T>(values, "values"),
                                                         flat<std::uint8_t>(fixed, "fixed"));
           }),
           py::arg("kind"), py::arg("nodes"), py::arg("values"), py::arg("fixed"))
      .def(
          "project",
          [](C& self, const py::array& nodes, double dt, double part, int times, bool backward) {
            const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
            interruptible([&] {
              for (int i = 0; i < times; ++i) self.project(x, {.dt = dt, .part = part, .backward = backward});
            });
          },
          py::arg("nodes"), py::arg("dt"), py::arg("part"), py::arg("times"), py::arg("backward"))
      .def(
          "project_averaged",
          [](C& self, const py::array& nodes, double dt, double part, int times, bool backward) {
            const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
            interruptible([&] {
              for (int i = 0; i < times; ++i) self.project_averaged(x, {.dt = dt, .part = part, .backward = backward});
            });
          },
          py::arg("nodes"), py::arg("dt"), py::arg("part"), py::arg("times"), py::arg("backward"))
      .def("clear_multipliers", &C::clear_multipliers)
      .def_property_readonly("colours", &C::colours)
      .def_property_readonly("nbytes", &C::nbytes)
      .def_static(
          "project_closed_volume",
          [](const py::array& triangles, const py::array& own, double volume, double compliance, double multiplier,
             const py::array& nodes, const py::array& gradient, double dt, double part) {
            const auto t = elements_of<3>(triangles, "triangles");
            const auto n = flat<std::int32_t>(own, "own");
            const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
            const auto g = structures_in<Vec<double, 3>, double>(gradient, "gradient");
            interruptible([&] {
              solids::project_closed_volume<T>({.triangles = t, .nodes = n, .volume = volume, .compliance = compliance},
                                               multiplier, x, g, {.dt = dt, .part = part});
            });
            return multiplier;
          },
          py::arg("triangles"), py::arg("own"), py::arg("volume"), py::arg("compliance"), py::arg("multiplier"), py::arg("nodes"),
          py::arg("gradient"), py::arg("dt"), py::arg("part"))
      .def_static(
          "predict_positions",
          [](const py::array& nodes, const py::array& velocities, const py::array& previous, std::array<double, 3> acceleration,
             double dt, double max_speed) {
            const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
            const auto v = structures_in<Vec<T, 3>, T>(velocities, "velocities"),
                       before = structures_in<Vec<T, 3>, T>(previous, "previous");
            interruptible(
                [&] { solids::predict_positions<T>(x, v, before, Vec<double, 3>(acceleration.data()), dt, max_speed); });
          },
          py::arg("nodes"), py::arg("velocities"), py::arg("previous"), py::arg("acceleration"), py::arg("dt"),
          py::arg("max_speed"))
      .def_static(
          "remove_turn",
          [](const py::array& nodes, const py::array& reference) {
            const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
            const auto before = structures_in<Vec<T, 3>, T>(reference, "reference");
            interruptible([&] { solids::remove_turn<T>(x, before); });
          },
          py::arg("nodes"), py::arg("reference"))
      .def_static(
          "update_velocities",
          [](const py::array& nodes, const py::array& previous, const py::array& velocities, double dt, double kept) {
            const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
            const auto v = structures_in<Vec<T, 3>, T>(velocities, "velocities"),
                       before = structures_in<Vec<T, 3>, T>(previous, "previous");
            interruptible([&] { solids::update_velocities<T>(x, before, v, dt, kept); });
          },
          py::arg("nodes"), py::arg("previous"), py::arg("velocities"), py::arg("dt"), py::arg("kept"));
}

}  // namespace

void bind_position_body(py::module_& m) {
  py::native_enum<PositionConstraintKind>(m, "PositionConstraintKind", "enum.Enum")
      .value("distance", PositionConstraintKind::distance)
      .value("isometric_bending", PositionConstraintKind::isometric_bending)
      .value("dihedral_angle", PositionConstraintKind::dihedral_angle)
      .value("printed_angle", PositionConstraintKind::printed_angle)
      .value("tet_volume", PositionConstraintKind::tet_volume)
      .value("neo_hookean", PositionConstraintKind::neo_hookean)
      .finalize();
  bind_for<float>(m, "PositionConstraintsFloat32");
  bind_for<double>(m, "PositionConstraintsFloat64");
  bind_position_parts(m);
}

}  // namespace meniscus::bindings
