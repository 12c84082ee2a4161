// Transfers between particles and grids, and surfaces of particle liquids.
#include "masks.hpp"

#include "meniscus/fluids/particles/carried_distance.hpp"
#include "meniscus/fluids/particles/density_surface.hpp"
#include "meniscus/fluids/particles/particle_grid_transfer.hpp"
#include "meniscus/fluids/particles/particle_surface.hpp"
#include "meniscus/grid/particles/particle_boundary.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

template <class T, int D>
void bind_particle_functions(py::module_& m) {
  using M = grid::MacField<T, D>;
  using F = grid::Field<T, D>;
  m.def(
      "particles_to_grid",
      [](grid::ParticleSet& particles, M& velocity, const std::array<py::array, D>& known, std::optional<M*> mass,
         Workspace& workspace) {
        fluids::FaceFlags<D> flags;
        for (int d = 0; d < D; ++d) {
          const auto i = static_cast<std::size_t>(d);
          const Index n = product<D>(velocity.component(d).extents());
          flags[i] = mask_of(known[i], "known", n, true);
        }
        interruptible([&] { fluids::particles_to_grid<T, D>(particles, velocity, flags, mass.value_or(nullptr), workspace); });
      },
      py::arg("particles"), py::arg("velocity"), py::arg("known"), py::arg("mass"), py::arg("workspace"));
  m.def(
      "grid_to_particles",
      [](M& velocity, std::optional<M*> before, double ratio, double time, grid::ParticleSet& particles, Workspace& workspace) {
        interruptible(
            [&] { fluids::grid_to_particles<T, D>(velocity, before.value_or(nullptr), ratio, time, particles, workspace); });
      },
      py::arg("velocity"), py::arg("before"), py::arg("ratio"), py::arg("time"), py::arg("particles"), py::arg("workspace"));
  m.def(
      "particle_density",
      [](grid::ParticleSet& particles, F& density, Workspace& workspace) {
        interruptible([&] { fluids::particle_density<T, D>(particles, density, workspace); });
      },
      py::arg("particles"), py::arg("density"), py::arg("workspace"));
  m.def(
      "particle_levelset",
      [](grid::ParticleSet& particles, F& phi, const fluids::ParticleSurfaceOptions& options, Workspace& workspace,
         const grid::ThinWalls<D>* walls, const grid::Field<double, D>* solid) {
        interruptible([&] { fluids::particle_levelset<T, D>(particles, phi, options, workspace, walls, solid); });
      },
      py::arg("particles"), py::arg("phi"), py::arg("options"), py::arg("workspace"), py::arg("walls") = nullptr,
      py::arg("solid") = nullptr);
  m.def(
      "divide_by_open_space",
      [](F& density, const grid::Field<double, D>& solid, Workspace& workspace) {
        interruptible([&] { fluids::divide_by_open_space<T, D>(density, solid, workspace); });
      },
      py::arg("density"), py::arg("solid"), py::arg("workspace"));
  m.def(
      "set_distances",
      [](grid::ParticleSet& particles, F& region, std::optional<F*> before) {
        interruptible([&] { fluids::set_distances<T, D>(particles, region, before.value_or(nullptr)); });
      },
      py::arg("particles"), py::arg("region"), py::arg("before"));
  m.def(
      "update_distances",
      [](grid::ParticleSet& particles, F& levelset, M& velocity, const grid::Field<double, D>* solid, double dt, double time,
         const grid::ThinWalls<D>* walls) {
        interruptible([&] { fluids::update_distances<T, D>(particles, levelset, velocity, solid, dt, time, walls); });
      },
      py::arg("particles"), py::arg("levelset"), py::arg("velocity"), py::arg("solid"), py::arg("dt"), py::arg("time"),
      py::arg("walls") = nullptr);
  m.def(
      "add_to_distances",
      [](grid::ParticleSet& particles, F& levelset, double factor) {
        interruptible([&] { fluids::add_to_distances<T, D>(particles, levelset, factor); });
      },
      py::arg("particles"), py::arg("levelset"), py::arg("factor"));
}

}  // namespace

void bind_particle_liquid(py::module_& m) {
  py::native_enum<fluids::ParticleSurface>(m, "ParticleSurface", "enum.Enum")
      .value("spheres", fluids::ParticleSurface::spheres)
      .value("average", fluids::ParticleSurface::average)
      .value("density", fluids::ParticleSurface::density)
      .value("anisotropic", fluids::ParticleSurface::anisotropic)
      .finalize();
  py::class_<fluids::ParticleSurfaceOptions>(m, "ParticleSurfaceOptions")
      .def(py::init([](fluids::ParticleSurface method, double radius, double support, double band, bool cover, bool carried,
                       double per_cell) {
             return fluids::ParticleSurfaceOptions{method, radius, support, band, cover, carried, per_cell};
           }),
           py::arg("method"), py::arg("radius"), py::arg("support"), py::arg("band"), py::arg("cover"), py::arg("carried"),
           py::arg("per_cell"));
  bind_particle_functions<double, 2>(m);
  bind_particle_functions<float, 3>(m);
  bind_particle_functions<double, 3>(m);
}

}  // namespace meniscus::bindings
