// Transfers between particles and grids, and surfaces of particle liquids.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/fluids/particles/particle_grid_transfer.hpp"
#include "meniscus/fluids/particles/surface/carried_distance.hpp"
#include "meniscus/fluids/particles/surface/density_surface.hpp"
#include "meniscus/fluids/particles/surface/particle_surface.hpp"
#include "meniscus/grid/particles/particle_boundary.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

void bind_particle_functions(py::module_& m) {
  def_fields(
      m, "particles_to_grid",
      []<class T, int D>(grid::ParticleSet& particles, MacField<T, D>& velocity, const std::array<py::array, D>& known,
                         MacField<T, D>* mass, Workspace& workspace) {
        const fluids::FaceFlags<D> flags = writable_face_masks_of<D>(known, "known", velocity.grid().local_shape());
        interruptible([&] { fluids::particles_to_grid<T, D>(particles, velocity, flags, mass, workspace); });
      },
      py::arg("particles"), py::arg("velocity"), py::arg("known"), py::arg("mass"), py::arg("workspace"));
  def_fields(
      m, "grid_to_particles",
      []<class T, int D>(MacField<T, D>& velocity, MacField<T, D>* before, double ratio, double time,
                         grid::ParticleSet& particles, Workspace& workspace) {
        interruptible([&] { fluids::grid_to_particles<T, D>(velocity, before, ratio, time, particles, workspace); });
      },
      py::arg("velocity"), py::arg("before"), py::arg("ratio"), py::arg("time"), py::arg("particles"), py::arg("workspace"));
  def_fields(
      m, "particle_density",
      []<class T, int D>(grid::ParticleSet& particles, Field<T, D>& density, Workspace& workspace) {
        interruptible([&] { fluids::particle_density<T, D>(particles, density, workspace); });
      },
      py::arg("particles"), py::arg("density"), py::arg("workspace"));
  def_fields(
      m, "particle_levelset",
      []<class T, int D>(grid::ParticleSet& particles, Field<T, D>& phi, const fluids::ParticleSurfaceOptions& options,
                         Workspace& workspace, const grid::ThinWalls<D>* walls, const Field<double, D>* solid) {
        interruptible([&] { fluids::particle_levelset<T, D>(particles, phi, options, workspace, walls, solid); });
      },
      py::arg("particles"), py::arg("phi"), py::arg("options"), py::arg("workspace"), py::arg("walls") = nullptr,
      py::arg("solid") = nullptr);
  def_fields(
      m, "divide_by_open_space",
      []<class T, int D>(Field<T, D>& density, const Field<double, D>& solid, Workspace& workspace) {
        interruptible([&] { fluids::divide_by_open_space<T, D>(density, solid, workspace); });
      },
      py::arg("density"), py::arg("solid"), py::arg("workspace"));
  def_fields(
      m, "set_distances",
      []<class T, int D>(grid::ParticleSet& particles, Field<T, D>& region, Field<T, D>* before) {
        interruptible([&] { fluids::set_distances<T, D>(particles, region, before); });
      },
      py::arg("particles"), py::arg("region"), py::arg("before"));
  def_fields(
      m, "update_distances",
      []<class T, int D>(grid::ParticleSet& particles, Field<T, D>& levelset, MacField<T, D>& velocity, Field<double, D>* solid,
                         double dt, double time, Workspace& workspace, const grid::ThinWalls<D>* walls) {
        interruptible([&] { fluids::update_distances<T, D>(particles, levelset, velocity, solid, dt, time, workspace, walls); });
      },
      py::arg("particles"), py::arg("levelset"), py::arg("velocity"), py::arg("solid"), py::arg("dt"), py::arg("time"),
      py::arg("workspace"), py::arg("walls") = nullptr);
  def_fields(
      m, "add_to_distances",
      []<class T, int D>(grid::ParticleSet& particles, Field<T, D>& levelset, double factor, Workspace& workspace) {
        interruptible([&] { fluids::add_to_distances<T, D>(particles, levelset, factor, workspace); });
      },
      py::arg("particles"), py::arg("levelset"), py::arg("factor"), py::arg("workspace"));
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
  bind_particle_functions(m);
}

}  // namespace meniscus::bindings
