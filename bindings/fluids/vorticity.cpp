#include "bridge.hpp"

#include "meniscus/fluids/vorticity/vortex_forcing.hpp"
#include "meniscus/fluids/vorticity/vorticity.hpp"
#include "meniscus/fluids/vorticity/vorticity_confinement.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

template <class T, int D>
void bind_vorticity_functions(py::module_& m) {
  using M = MacField<T, D>;
  using Solid = Field<double, D>;
  m.def(
      "vorticity",
      [](M& velocity, double time, const std::array<Field<T, D>*, vorticity_components<D>>& out) {
        interruptible([&] { compute_vorticity<T, D>(velocity, time, out); });
      },
      py::arg("velocity"), py::arg("time"), py::arg("out"));
  m.def(
      "enstrophy", [](M& velocity, double time) { return interruptible([&] { return enstrophy(velocity, time); }); },
      py::arg("velocity"), py::arg("time"));
  m.def(
      "kinetic_energy", [](const M& velocity) { return interruptible([&] { return kinetic_energy(velocity); }); },
      py::arg("velocity"));
  m.def(
      "add_vorticity_confinement",
      [](M& velocity, double dt, double epsilon, std::optional<Solid*> solid, double time, Workspace& workspace) {
        interruptible([&] { add_vorticity_confinement(velocity, dt, epsilon, solid.value_or(nullptr), time, workspace); });
      },
      py::arg("velocity"), py::arg("dt"), py::arg("epsilon"), py::arg("solid"), py::arg("time"), py::arg("workspace"));
  m.def(
      "advance_vortex_particles",
      [](ParticleSet& particles, M& velocity, double dt, const VortexAdvance& options, std::optional<Solid*> solid, double time,
         Workspace& workspace) {
        const VortexAdvanceInfo info = interruptible(
            [&] { return advance_vortex_particles(particles, velocity, dt, options, solid.value_or(nullptr), time, workspace); });
        return std::array<Index, 3>{info.left, info.in_solid, info.projected};
      },
      py::arg("particles"), py::arg("velocity"), py::arg("dt"), py::arg("options"), py::arg("solid"), py::arg("time"),
      py::arg("workspace"));
  m.def(
      "add_vortex_forces",
      [](M& velocity, ParticleSet& particles, double dt, double epsilon, const std::optional<py::array>& epsilons,
         const VortexForcing& options, Workspace& workspace) {
        const double* each = epsilons ? data_of<double>(*epsilons, "epsilon", particles.size()) : nullptr;
        interruptible([&] { add_vortex_forces(velocity, particles, dt, epsilon, each, options, workspace); });
      },
      py::arg("velocity"), py::arg("particles"), py::arg("dt"), py::arg("epsilon"), py::arg("epsilons"), py::arg("options"),
      py::arg("workspace"));
}

}  // namespace

void bind_vorticity(py::module_& m) {
  py::enum_<Stretching>(m, "Stretching")
      .value("renormalize", Stretching::renormalize)
      .value("clamp", Stretching::clamp)
      .value("free", Stretching::free);
  py::enum_<InSolid>(m, "InSolid").value("remove", InSolid::remove).value("project", InSolid::project);
  py::enum_<LeavingParticles>(m, "LeavingParticles")
      .value("remove", LeavingParticles::remove)
      .value("clamp", LeavingParticles::clamp);
  py::enum_<VortexKernel>(m, "VortexKernel").value("gaussian", VortexKernel::gaussian).value("tent", VortexKernel::tent);
  py::class_<VortexAdvance>(m, "VortexAdvance")
      .def(py::init([](Trace trace, Stretching stretching, InSolid in_solid, LeavingParticles leaving) {
             return VortexAdvance{trace, stretching, in_solid, leaving};
           }),
           py::arg("trace"), py::arg("stretching"), py::arg("in_solid"), py::arg("leaving"));
  py::class_<VortexForcing>(m, "VortexForcing")
      .def(py::init([](VortexKernel kernel, bool balance, bool reduce, double time) {
             return VortexForcing{kernel, balance, reduce, time};
           }),
           py::arg("kernel"), py::arg("balance"), py::arg("reduce"), py::arg("time"));
  bind_vorticity_functions<float, 2>(m);
  bind_vorticity_functions<double, 2>(m);
  bind_vorticity_functions<float, 3>(m);
  bind_vorticity_functions<double, 3>(m);
}

}  // namespace meniscus::bindings
