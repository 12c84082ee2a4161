// Vorticity, its confinement, and vortex particles.
#include "any_field.hpp"

#include "meniscus/fluids/vorticity/vortex_forcing.hpp"
#include "meniscus/fluids/vorticity/vorticity.hpp"
#include "meniscus/fluids/vorticity/vorticity_confinement.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

void bind_vorticity_functions(py::module_& m) {
  def_fields(
      m, "vorticity",
      []<class T, int D>(MacField<T, D>& velocity, double time,
                         const std::array<Field<T, D>*, fluids::vorticity_components<D>>& out) {
        interruptible([&] { fluids::compute_vorticity<T, D>(velocity, time, out); });
      },
      py::arg("velocity"), py::arg("time"), py::arg("out"));
  def_fields(
      m, "enstrophy",
      []<class T, int D>(MacField<T, D>& velocity, double time) {
        return interruptible([&] { return fluids::enstrophy(velocity, time); });
      },
      py::arg("velocity"), py::arg("time"));
  def_fields(
      m, "kinetic_energy",
      []<class T, int D>(const MacField<T, D>& velocity) {
        return interruptible([&] { return fluids::kinetic_energy(velocity); });
      },
      py::arg("velocity"));
  def_fields(
      m, "add_vorticity_confinement",
      []<class T, int D>(MacField<T, D>& velocity, double dt, double epsilon, grid::SolidBoundary<T, D>* solid, double time,
                         Workspace& workspace, const grid::ThinWalls<D>* walls) {
        interruptible([&] { fluids::add_vorticity_confinement(velocity, dt, epsilon, solid, time, workspace, walls); });
      },
      py::arg("velocity"), py::arg("dt"), py::arg("epsilon"), py::arg("solid"), py::arg("time"), py::arg("workspace"),
      py::arg("walls") = nullptr);
  def_fields(
      m, "advance_vortex_particles",
      []<class T, int D>(grid::ParticleSet& particles, MacField<T, D>& velocity, double dt, const fluids::VortexAdvance& options,
                         grid::SolidBoundary<T, D>* solid, double time, Workspace& workspace) {
        const grid::FateCounts counts = interruptible(
            [&] { return fluids::advance_vortex_particles(particles, velocity, dt, options, solid, time, workspace); });
        return std::array<Index, 3>{counts.left, counts.in_solid, counts.pushed};
      },
      py::arg("particles"), py::arg("velocity"), py::arg("dt"), py::arg("options"), py::arg("solid"), py::arg("time"),
      py::arg("workspace"));
  def_fields(
      m, "add_vortex_forces",
      []<class T, int D>(MacField<T, D>& velocity, grid::ParticleSet& particles, double dt, double epsilon,
                         const std::optional<py::array>& epsilons, const fluids::VortexForcing& options, Workspace& workspace,
                         const grid::ThinWalls<D>* walls) {
        const double* each = epsilons ? data_of<double>(*epsilons, "epsilon", particles.size()) : nullptr;
        interruptible([&] { fluids::add_vortex_forces(velocity, particles, dt, epsilon, each, options, workspace, walls); });
      },
      py::arg("velocity"), py::arg("particles"), py::arg("dt"), py::arg("epsilon"), py::arg("epsilons"), py::arg("options"),
      py::arg("workspace"), py::arg("walls") = nullptr);
}

}  // namespace

void bind_vorticity(py::module_& m) {
  py::native_enum<fluids::Stretching>(m, "Stretching", "enum.Enum")
      .value("renormalize", fluids::Stretching::renormalize)
      .value("clamp", fluids::Stretching::clamp)
      .value("free", fluids::Stretching::free)
      .finalize();
  py::native_enum<fluids::LeavingParticles>(m, "LeavingParticles", "enum.Enum")
      .value("remove", fluids::LeavingParticles::remove)
      .value("clamp", fluids::LeavingParticles::clamp)
      .finalize();
  py::native_enum<fluids::VortexKernel>(m, "VortexKernel", "enum.Enum")
      .value("gaussian", fluids::VortexKernel::gaussian)
      .value("tent", fluids::VortexKernel::tent)
      .finalize();
  py::class_<fluids::VortexAdvance>(m, "VortexAdvance")
      .def(py::init([](grid::Trace trace, fluids::Stretching stretching, grid::InSolid in_solid,
                       fluids::LeavingParticles leaving) { return fluids::VortexAdvance{trace, stretching, in_solid, leaving}; }),
           py::arg("trace"), py::arg("stretching"), py::arg("in_solid"), py::arg("leaving"));
  py::class_<fluids::VortexForcing>(m, "VortexForcing")
      .def(py::init([](fluids::VortexKernel kernel, bool balance, bool reduce, double time) {
             return fluids::VortexForcing{kernel, balance, reduce, time};
           }),
           py::arg("kernel"), py::arg("balance"), py::arg("reduce"), py::arg("time"));
  bind_vorticity_functions(m);
}

}  // namespace meniscus::bindings
