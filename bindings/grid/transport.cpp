// Advection, extrapolation and sampling of fields.
#include "masks.hpp"

#include "meniscus/grid/extrapolate.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/nodes/node_advection.hpp"
#include "meniscus/grid/transport/advection_scheme.hpp"
#include "meniscus/grid/transport/point_transport.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

using OptionalMask = std::optional<py::array>;

struct ScalarMasks {
  OptionalMask active, visible, first_order;
  grid::AdvectMasks pointers(Index size) const {
    return {mask_of(active, "active", size), mask_of(visible, "visible", size), mask_of(first_order, "first_order", size)};
  }
};

template <class T, int D>
std::array<grid::AdvectMasks, D> pointers_of(const std::array<ScalarMasks, D>& masks, const grid::MacField<T, D>& faces) {
  std::array<grid::AdvectMasks, D> p;
  for (int d = 0; d < D; ++d) {
    const auto i = static_cast<std::size_t>(d);
    p[i] = masks[i].pointers(product<D>(faces.component(d).extents()));
  }
  return p;
}

template <class T, int D>
void bind_transport_functions(py::module_& m) {
  using F = grid::Field<T, D>;
  using M = grid::MacField<T, D>;
  m.def(
      "advect",
      [](F& field, M& velocity, double dt, const grid::AdvectOptions& options, const ScalarMasks& masks, Workspace& workspace,
         const grid::ThinWalls<D>* walls, std::optional<double> stand_in) {
        const grid::WallRule<D> rule{walls, {-1, stand_in.value_or(0.0), !stand_in}};
        const grid::AdvectMasks p = masks.pointers(product<D>(field.extents()));
        return interruptible([&] { return grid::advect<T, D>(field, velocity, dt, options, p, workspace, rule); });
      },
      py::arg("field"), py::arg("velocity"), py::arg("dt"), py::arg("options"), py::arg("masks"), py::arg("workspace"),
      py::arg("walls") = nullptr, py::arg("stand_in") = py::none());
  m.def(
      "advect",
      [](M& field, M& velocity, double dt, const grid::AdvectOptions& options, const std::array<ScalarMasks, D>& masks,
         Workspace& workspace, const grid::ThinWalls<D>* walls, std::optional<double> /*stand_in*/) {
        const grid::WallRule<D> rule{walls, {}};
        const std::array<grid::AdvectMasks, D> p = pointers_of<T, D>(masks, field);
        return interruptible([&] { return grid::advect<T, D>(field, velocity, dt, options, p, workspace, rule); });
      },
      py::arg("field"), py::arg("velocity"), py::arg("dt"), py::arg("options"), py::arg("masks"), py::arg("workspace"),
      py::arg("walls") = nullptr, py::arg("stand_in") = py::none());
  m.def(
      "advect_at_nodes",
      [](M& velocity, double dt, const grid::AdvectOptions& options, const std::array<ScalarMasks, D>& masks,
         Workspace& workspace, const grid::ThinWalls<D>* walls, grid::HiddenNodes hidden) {
        const std::array<grid::AdvectMasks, D> p = pointers_of<T, D>(masks, velocity);
        return interruptible([&] { return grid::advect_at_nodes<T, D>(velocity, dt, options, p, workspace, walls, hidden); });
      },
      py::arg("velocity"), py::arg("dt"), py::arg("options"), py::arg("masks"), py::arg("workspace"), py::arg("walls"),
      py::arg("hidden_nodes"));
  m.def(
      "first_order_pass",
      [](F& field, M& velocity, double dt, const grid::PassOptions& options, double time, F& out, std::optional<F*> low,
         std::optional<F*> high) {
        interruptible([&] {
          grid::first_order_pass(field, velocity, dt, options, time, out, low.value_or(nullptr), high.value_or(nullptr));
        });
      },
      py::arg("field"), py::arg("velocity"), py::arg("dt"), py::arg("options"), py::arg("time"), py::arg("out"), py::arg("low"),
      py::arg("high"));
  m.def(
      "extrapolate",
      [](F& field, const py::array& known, Index layers, Workspace& workspace) {
        auto* k = mask_of(known, "known", product<D>(field.extents()), true);
        return interruptible([&] { return grid::extrapolate(field, k, layers, workspace); });
      },
      py::arg("field"), py::arg("known"), py::arg("layers"), py::arg("workspace"));
  m.def(
      "extrapolate_faces",
      [](M& velocity, const std::array<py::array, D>& known, Index layers, Workspace& workspace) {
        std::array<std::uint8_t*, D> k;
        for (int d = 0; d < D; ++d) k[d] = mask_of(known[d], "known", product<D>(velocity.component(d).extents()), true);
        interruptible([&] {
          for (int d = 0; d < D; ++d) grid::extrapolate(velocity.component(d), k[d], layers, workspace);
        });
      },
      py::arg("velocity"), py::arg("known"), py::arg("layers"), py::arg("workspace"));
  m.def(
      "max_component_speed", [](const M& v) { return interruptible([&] { return grid::max_component_speed(v); }); },
      py::arg("velocity"));
  m.def(
      "require_finite", [](const F& f, const char* name) { interruptible([&] { require_finite(f, name); }); }, py::arg("field"),
      py::arg("name"));
  m.def(
      "sample",
      [](F& field, const py::array& points, grid::Interpolation interpolation, double time, const py::array& out) {
        const auto* x = data_of<T>(points, "points");
        const Index n = points.size() / D;
        auto* v = data_of<T>(out, "out", n, true);
        interruptible([&] { grid::sample_points(field, x, n, interpolation, time, v); });
      },
      py::arg("field"), py::arg("points"), py::arg("interpolation"), py::arg("time"), py::arg("out"));
  m.def(
      "sample",
      [](M& velocity, const py::array& points, double time, const py::array& out) {
        const auto* x = data_of<T>(points, "points");
        const Index n = points.size() / D;
        auto* v = data_of<T>(out, "out", n * D, true);
        interruptible([&] { grid::sample_points(velocity, x, n, time, v); });
      },
      py::arg("velocity"), py::arg("points"), py::arg("time"), py::arg("out"));
  m.def(
      "advance_points",
      [](M& velocity, const py::array& points, double dt, grid::Trace trace, grid::OutsidePoints outside, double time,
         Workspace& workspace) {
        auto* x = data_of<T>(points, "points", -1, true);
        const Index n = points.size() / D;
        interruptible([&] { advance_points(velocity, x, n, dt, trace, outside, time, workspace); });
      },
      py::arg("velocity"), py::arg("points"), py::arg("dt"), py::arg("trace"), py::arg("outside"), py::arg("time"),
      py::arg("workspace"));
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
      .def(py::init([](OptionalMask active, OptionalMask visible, OptionalMask first_order) {
             return ScalarMasks{std::move(active), std::move(visible), std::move(first_order)};
           }),
           py::arg("active") = py::none(), py::arg("visible") = py::none(), py::arg("first_order") = py::none());
  bind_transport_functions<double, 2>(m);
  bind_transport_functions<float, 3>(m);
  bind_transport_functions<double, 3>(m);
}

}  // namespace meniscus::bindings
