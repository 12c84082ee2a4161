// Spray, foam and bubbles.
#include "any_field.hpp"
#include "vectors.hpp"

#include "meniscus/fluids/whitewater/whitewater.hpp"

namespace meniscus::bindings {

void bind_whitewater(py::module_& m) {
  py::enum_<fluids::WhitewaterKind>(m, "WhitewaterKind")
      .value("spray", fluids::WhitewaterKind::spray)
      .value("foam", fluids::WhitewaterKind::foam)
      .value("bubble", fluids::WhitewaterKind::bubble);
  py::class_<fluids::WhitewaterSources>(m, "WhitewaterSources")
      .def(py::init([](double air_rate, double crest_rate, std::array<double, 2> air, std::array<double, 2> crest,
                       std::array<double, 2> energy, double spread, std::array<double, 2> radius, std::array<double, 2> lifetime,
                       std::uint64_t seed, Index most) {
             return fluids::WhitewaterSources{
                 air_rate, crest_rate, {air[0], air[1]}, {crest[0], crest[1]}, {energy[0], energy[1]}, spread, radius, lifetime,
                 seed,     most};
           }),
           py::arg("air_rate"), py::arg("crest_rate"), py::arg("air"), py::arg("crest"), py::arg("energy"), py::arg("spread"),
           py::arg("radius"), py::arg("lifetime"), py::arg("seed"), py::arg("most"));
  py::class_<fluids::WhitewaterMotion>(m, "WhitewaterMotion")
      .def(py::init([](double air_drag, double rise, double response, double layer) {
             return fluids::WhitewaterMotion{air_drag, rise, response, layer};
           }),
           py::arg("air_drag"), py::arg("rise"), py::arg("response"), py::arg("layer"));
  def_fields(
      m, "emit_whitewater",
      []<class T, int D>(grid::ParticleSet& particles, MacField<T, D>& velocity, Field<T, D>& phi, Field<double, D>* solid,
                         const fluids::WhitewaterSources& sources, double layer, double dt, double time, std::uint32_t step,
                         Workspace& workspace) {
        const auto e = interruptible(
            [&] { return fluids::emit_whitewater(particles, velocity, phi, solid, sources, layer, dt, time, step, workspace); });
        return std::make_pair(e.emitted, e.wanted);
      },
      py::arg("particles"), py::arg("velocity"), py::arg("phi"), py::arg("solid"), py::arg("sources"), py::arg("layer"),
      py::arg("dt"), py::arg("time"), py::arg("step"), py::arg("workspace"));
  def_fields(
      m, "move_whitewater",
      []<class T, int D>(grid::ParticleSet& particles, MacField<T, D>& velocity, Field<T, D>& phi, Field<double, D>* solid,
                         const std::array<double, D>& gravity, const fluids::WhitewaterMotion& motion, double dt, double time,
                         Workspace& workspace) {
        const auto g = vector_of<D>(gravity);
        return interruptible(
            [&] { return fluids::move_whitewater(particles, velocity, phi, solid, g, motion, dt, time, workspace); });
      },
      py::arg("particles"), py::arg("velocity"), py::arg("phi"), py::arg("solid"), py::arg("gravity"), py::arg("motion"),
      py::arg("dt"), py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "sort_whitewater",
      []<class T, int D>(grid::ParticleSet& particles, Field<T, D>& phi, double layer, double time, Workspace& workspace) {
        interruptible([&] { fluids::sort_whitewater(particles, phi, layer, time, workspace); });
      },
      py::arg("particles"), py::arg("phi"), py::arg("layer"), py::arg("time"), py::arg("workspace"));
}

}  // namespace meniscus::bindings
