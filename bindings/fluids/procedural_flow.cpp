// Procedural flows.
#include "any_field.hpp"

#include "meniscus/fluids/flows/procedural_flow.hpp"

namespace meniscus::bindings {
namespace {

template <int D>
using Components = std::array<double, D>;

template <int D>
Vec<double, D> vec(const Components<D>& c) {
  return Eigen::Map<const Vec<double, D>>(c.data());
}

template <int D>
void bind_flow_type(py::module_& m, const std::string& suffix) {
  py::class_<fluids::Flow<D>, std::shared_ptr<fluids::Flow<D>>>(m, ("Flow" + suffix).c_str())
      .def_property_readonly("has_potential", &fluids::Flow<D>::has_potential)
      .def(
          "velocity",
          [](const fluids::Flow<D>& f, const py::array& points, double time, const py::array& out) {
            const auto* x = data_of<double>(points, "points");
            const Index n = points.size() / D;
            auto* v = data_of<double>(out, "out", n * D, true);
            interruptible([&] { fluids::sample_flow(f, x, n, time, v); });
          },
          py::arg("points"), py::arg("time"), py::arg("out"))
      .def(
          "advance_points",
          [](const fluids::Flow<D>& f, const py::array& points, double time, double dt, grid::Trace trace, Workspace& workspace) {
            auto* x = data_of<double>(points, "points", -1, true);
            const Index n = points.size() / D;
            interruptible([&] { advance_points(f, x, n, time, dt, trace, workspace); });
          },
          py::arg("points"), py::arg("time"), py::arg("dt"), py::arg("trace"), py::arg("workspace"));
  const auto mutable_pointer = [](fluids::FlowPointer<D> p) { return std::const_pointer_cast<fluids::Flow<D>>(p); };
  m.def(("uniform" + suffix).c_str(), [=](const Components<D>& v) { return mutable_pointer(fluids::uniform_flow<D>(vec<D>(v))); },
        py::arg("velocity"));
  m.def(("source" + suffix).c_str(),
        [=](const Components<D>& center, double radius, double strength, double variation,
            const numerics::FractalNoiseOptions& noise) {
          return mutable_pointer(fluids::source<D>(vec<D>(center), radius, strength, variation, noise));
        },
        py::arg("center"), py::arg("radius"), py::arg("strength"), py::arg("variation"), py::arg("noise"));
  m.def(("curl_noise" + suffix).c_str(),
        [=](double strength, const numerics::FractalNoiseOptions& noise,
            const std::optional<std::tuple<Components<D>, Components<D>, double>>& ramp) {
          std::optional<fluids::RampBox<D>> box;
          if (ramp) box = fluids::RampBox<D>{vec<D>(std::get<0>(*ramp)), vec<D>(std::get<1>(*ramp)), std::get<2>(*ramp)};
          return mutable_pointer(fluids::curl_noise<D>(strength, noise, box));
        },
        py::arg("strength"), py::arg("noise"), py::arg("ramp"));
  m.def(
      ("weighted_sum" + suffix).c_str(),
      [=](const std::vector<std::shared_ptr<fluids::Flow<D>>>& flows, const std::vector<double>& weights) {
        return mutable_pointer(fluids::weighted_sum<D>(std::vector<fluids::FlowPointer<D>>(flows.begin(), flows.end()), weights));
      },
      py::arg("flows"), py::arg("weights"));
}

}  // namespace

void bind_procedural_flow(py::module_& m) {
  py::native_enum<fluids::FaceSampling>(m, "FaceSampling", "enum.Enum")
      .value("pointwise", fluids::FaceSampling::pointwise)
      .value("discrete_curl", fluids::FaceSampling::discrete_curl)
      .finalize();
  bind_flow_type<2>(m, "2");
  bind_flow_type<3>(m, "3");
  def_fields(
      m, "sample_flow",
      []<class T, int D>(const fluids::Flow<D>& f, MacField<T, D>& velocity, double time, fluids::FaceSampling sampling,
                         Workspace& workspace) {
        interruptible([&] { fluids::sample_flow(f, velocity, time, sampling, workspace); });
      },
      py::arg("flow"), py::arg("velocity"), py::arg("time"), py::arg("sampling"), py::arg("workspace"));
  m.def(
      "rotation2",
      [](const Components<2>& center, double rate) {
        return std::const_pointer_cast<fluids::Flow<2>>(fluids::rotation(vec<2>(center), rate));
      },
      py::arg("center"), py::arg("rate"));
  m.def(
      "rotation3",
      [](const Components<3>& center, const Components<3>& omega) {
        return std::const_pointer_cast<fluids::Flow<3>>(fluids::rotation(vec<3>(center), vec<3>(omega)));
      },
      py::arg("center"), py::arg("angular_velocity"));
  m.def(
      "vortex_ring",
      [](const Components<3>& center, const Components<3>& axis, double radius, double strength) {
        return std::const_pointer_cast<fluids::Flow<3>>(fluids::vortex_ring(vec<3>(center), vec<3>(axis), radius, strength));
      },
      py::arg("center"), py::arg("axis"), py::arg("radius"), py::arg("strength"));
  m.def(
      "single_vortex",
      [](double length, double period) {
        return std::const_pointer_cast<fluids::Flow<2>>(fluids::single_vortex(length, period));
      },
      py::arg("length"), py::arg("period"));
  m.def(
      "deformation",
      [](double length, double period) {
        return std::const_pointer_cast<fluids::Flow<3>>(fluids::deformation_flow(length, period));
      },
      py::arg("length"), py::arg("period"));
}

}  // namespace meniscus::bindings
