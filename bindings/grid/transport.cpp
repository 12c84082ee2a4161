// Advection, extrapolation and sampling of fields.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/grid/extrapolate.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/nodes/node_advection.hpp"
#include "meniscus/grid/transport/advection_scheme.hpp"
#include "meniscus/grid/transport/point_transport.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

struct ScalarMasks {
  Mask active, visible, first_order;
  grid::AdvectMasks pointers(Index size) const {
    return {mask_of(active, "active", size), mask_of(visible, "visible", size), mask_of(first_order, "first_order", size)};
  }
};

/// The masks of a scalar field, or of each component of a velocity.
template <class T, int D>
grid::AdvectMasks pointers_of(const std::vector<ScalarMasks>& masks, const Field<T, D>& field) {
  require(masks.size() == 1, "a scalar field has one set of masks, not ", masks.size());
  return masks[0].pointers(product<D>(field.extents()));
}

template <class T, int D>
std::array<grid::AdvectMasks, D> pointers_of(const std::vector<ScalarMasks>& masks, const MacField<T, D>& faces) {
  require(masks.size() == D, "a velocity has one set of masks for each of ", D, " components, not ", masks.size());
  std::array<grid::AdvectMasks, D> p;
  for (std::size_t d = 0; d < D; ++d) p[d] = masks[d].pointers(product<D>(faces.component(static_cast<int>(d)).extents()));
  return p;
}

void bind_transport_functions(py::module_& m) {
  def_samples(
      m, "advect",
      []<template <class, int> class Samples, class T, int D>(
          Samples<T, D>& field, MacField<T, D>& velocity, double dt, const grid::AdvectOptions& options,
          const std::vector<ScalarMasks>& masks, Workspace& workspace, const grid::ThinWalls<D>* walls,
          std::optional<double> replacement) {
        const auto p = pointers_of(masks, field);
        const grid::WallRule<D> rule{walls, {-1, replacement.value_or(0.0), !replacement}};
        return interruptible([&] { return grid::advect<T, D>(field, velocity, dt, options, p, workspace, rule); });
      },
      py::arg("field"), py::arg("velocity"), py::arg("dt"), py::arg("options"), py::arg("masks"), py::arg("workspace"),
      py::arg("walls") = nullptr, py::arg("replacement") = py::none());
  def_fields(
      m, "advect_at_nodes",
      []<class T, int D>(MacField<T, D>& velocity, double dt, const grid::AdvectOptions& options,
                         const std::vector<ScalarMasks>& masks, Workspace& workspace, const grid::ThinWalls<D>* walls,
                         grid::HiddenNodes hidden) {
        const auto p = pointers_of(masks, velocity);
        return interruptible([&] { return grid::advect_at_nodes<T, D>(velocity, dt, options, p, workspace, walls, hidden); });
      },
      py::arg("velocity"), py::arg("dt"), py::arg("options"), py::arg("masks"), py::arg("workspace"), py::arg("walls"),
      py::arg("hidden_nodes"));
  def_fields(
      m, "first_order_pass",
      []<class T, int D>(Field<T, D>& field, MacField<T, D>& velocity, double dt, const grid::PassOptions& options, double time,
                         Field<T, D>& out, Field<T, D>* low, Field<T, D>* high) {
        interruptible([&] { grid::first_order_pass(field, velocity, dt, options, time, out, low, high); });
      },
      py::arg("field"), py::arg("velocity"), py::arg("dt"), py::arg("options"), py::arg("time"), py::arg("out"), py::arg("low"),
      py::arg("high"));
  def_fields(
      m, "extrapolate",
      []<class T, int D>(Field<T, D>& field, const py::array& known, Index layers, Workspace& workspace) {
        auto* k = mask_of(known, "known", product<D>(field.extents()), true);
        return interruptible([&] { return grid::extrapolate(field, k, layers, workspace); });
      },
      py::arg("field"), py::arg("known"), py::arg("layers"), py::arg("workspace"));
  def_fields(
      m, "extrapolate_faces",
      []<class T, int D>(MacField<T, D>& velocity, const std::array<py::array, D>& known, Index layers, Workspace& workspace) {
        const auto k = writable_face_masks_of<D>(known, "known", velocity.grid().local_shape());
        interruptible([&] {
          for (int d = 0; d < D; ++d) grid::extrapolate(velocity.component(d), k[d], layers, workspace);
        });
      },
      py::arg("velocity"), py::arg("known"), py::arg("layers"), py::arg("workspace"));
  def_fields(
      m, "fill_unknown_faces",
      []<class T, int D>(MacField<T, D>& velocity, const std::array<py::array, D>& known, Index layers, Workspace& workspace) {
        const auto k = writable_face_masks_of<D>(known, "known", velocity.grid().local_shape());
        interruptible([&] { grid::fill_unknown_faces<T, D>(velocity, k, layers, workspace); });
      },
      py::arg("velocity"), py::arg("known"), py::arg("layers"), py::arg("workspace"));
  def_fields(
      m, "max_component_speed",
      []<class T, int D>(const MacField<T, D>& v) { return interruptible([&] { return grid::max_component_speed(v); }); },
      py::arg("velocity"));
  def_fields(
      m, "require_finite",
      []<class T, int D>(const Field<T, D>& f, const char* name) { interruptible([&] { require_finite(f, name); }); },
      py::arg("field"), py::arg("name"));
  def_fields(
      m, "sample",
      []<class T, int D>(Field<T, D>& field, const py::array& points, grid::Interpolation interpolation, double time,
                         const py::array& out) {
        const auto* x = data_of<T>(points, "points");
        const Index n = points.size() / D;
        auto* v = data_of<T>(out, "out", n, true);
        interruptible([&] { grid::sample_points(field, x, n, interpolation, time, v); });
      },
      py::arg("field"), py::arg("points"), py::arg("interpolation"), py::arg("time"), py::arg("out"));
  def_fields(
      m, "sample_velocity",
      []<class T, int D>(MacField<T, D>& velocity, const py::array& points, double time, const py::array& out) {
        const auto* x = data_of<T>(points, "points");
        const Index n = points.size() / D;
        auto* v = data_of<T>(out, "out", n * D, true);
        interruptible([&] { grid::sample_points(velocity, x, n, time, v); });
      },
      py::arg("velocity"), py::arg("points"), py::arg("time"), py::arg("out"));
  def_fields(
      m, "advance_points",
      []<class T, int D>(MacField<T, D>& velocity, const py::array& points, double dt, grid::Trace trace,
                         grid::OutsidePoints outside, double time, Workspace& workspace) {
        auto* x = data_of<T>(points, "points", -1, true);
        const Index n = points.size() / D;
        interruptible([&] { advance_points(velocity, x, n, dt, trace, outside, time, workspace); });
      },
      py::arg("velocity"), py::arg("points"), py::arg("dt"), py::arg("trace"), py::arg("outside"), py::arg("time"),
      py::arg("workspace"));
  def_fields(
      m, "sample_along",
      []<class T, int D>(MacField<T, D>& out, MacField<T, D>& source, const std::vector<MacField<T, D>*>& velocities,
                         const std::vector<double>& lengths, grid::Trace trace, grid::Interpolation interpolation, double time,
                         bool add) {
        require(velocities.size() == lengths.size(), "each velocity of a path needs a length");
        std::vector<grid::PathStep<T, D>> path;
        for (std::size_t s = 0; s < lengths.size(); ++s) path.push_back({velocities[s], lengths[s]});
        interruptible([&] { grid::sample_along(out, source, path, trace, interpolation, time, add); });
      },
      py::arg("out"), py::arg("source"), py::arg("velocities"), py::arg("lengths"), py::arg("trace"), py::arg("interpolation"),
      py::arg("time"), py::arg("add"));
}

}  // namespace

void bind_transport(py::module_& m) {
  py::class_<grid::ThinWalls<2>>(m, "ThinWalls2");
  py::class_<grid::ThinWalls<3>>(m, "ThinWalls3");
  py::native_enum<grid::Trace>(m, "Trace", "enum.Enum")
      .value("euler", grid::Trace::euler)
      .value("midpoint", grid::Trace::midpoint)
      .value("rk3", grid::Trace::rk3)
      .finalize();
  py::native_enum<grid::Interpolation>(m, "Interpolation", "enum.Enum")
      .value("linear", grid::Interpolation::linear)
      .value("cubic", grid::Interpolation::cubic)
      .value("catmull_rom", grid::Interpolation::catmull_rom)
      .finalize();
  py::native_enum<grid::TransportBlock>(m, "TransportBlock", "enum.Enum")
      .value("semi_lagrangian", grid::TransportBlock::semi_lagrangian)
      .value("upwind", grid::TransportBlock::upwind)
      .finalize();
  py::native_enum<grid::Limiter>(m, "Limiter", "enum.Enum")
      .value("none", grid::Limiter::none)
      .value("clamp", grid::Limiter::clamp)
      .value("reversion", grid::Limiter::reversion)
      .finalize();
  py::native_enum<grid::FirstOrderNear>(m, "FirstOrderNear", "enum.Enum")
      .value("nothing", grid::FirstOrderNear::nothing)
      .value("objects", grid::FirstOrderNear::objects)
      .value("walls", grid::FirstOrderNear::walls)
      .finalize();
  py::native_enum<grid::HiddenValue>(m, "HiddenValue", "enum.Enum")
      .value("mean", grid::HiddenValue::mean)
      .value("own", grid::HiddenValue::own)
      .finalize();
  py::native_enum<grid::HiddenNodes>(m, "HiddenNodes", "enum.Enum")
      .value("walls", grid::HiddenNodes::walls)
      .value("mean", grid::HiddenNodes::mean)
      .finalize();
  py::native_enum<grid::OutsidePoints>(m, "OutsidePoints", "enum.Enum")
      .value("keep", grid::OutsidePoints::keep)
      .value("clamp", grid::OutsidePoints::clamp)
      .finalize();
  py::class_<grid::PassOptions>(m, "PassOptions")
      .def(py::init([](grid::TransportBlock block, grid::Trace trace, grid::Interpolation interpolation) {
             return grid::PassOptions{block, trace, interpolation};
           }),
           py::arg("block"), py::arg("trace"), py::arg("interpolation"));
  py::class_<grid::AdvectOptions>(m, "AdvectOptions")
      .def(py::init([](std::string_view scheme, const grid::PassOptions& pass, grid::Limiter limiter,
                       grid::FirstOrderNear first_order_near, grid::HiddenValue hidden_value, double time) {
             return grid::AdvectOptions{&grid::advection_scheme(scheme), pass, limiter, first_order_near, hidden_value, time};
           }),
           py::arg("scheme"), py::arg("pass_"), py::arg("limiter"), py::arg("first_order_near"), py::arg("hidden_value"),
           py::arg("time"));
  m.def("advection_schemes", [] {
    std::vector<std::string_view> names;
    for (const grid::AdvectionScheme* scheme : grid::advection_schemes()) names.push_back(scheme->name);
    return names;
  });
  py::class_<grid::AdvectInfo>(m, "AdvectInfo",
                               "What a transport step did: `cfl`, the largest |component| dt / spacing, and `substeps`.")
      .def_readonly("cfl", &grid::AdvectInfo::cfl)
      .def_readonly("substeps", &grid::AdvectInfo::substeps)
      .def("__repr__", [](const grid::AdvectInfo& i) {
        return "AdvectInfo(cfl=" + std::string(py::str(py::float_(i.cfl))) + ", substeps=" + std::to_string(i.substeps) + ")";
      });
  py::class_<ScalarMasks>(m, "ScalarMasks")
      .def(py::init([](Mask active, Mask visible, Mask first_order) {
             return ScalarMasks{std::move(active), std::move(visible), std::move(first_order)};
           }),
           py::arg("active") = py::none(), py::arg("visible") = py::none(), py::arg("first_order") = py::none());
  bind_transport_functions(m);
}

}  // namespace meniscus::bindings
