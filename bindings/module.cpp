// The extension module: its exceptions, and one submodule for each room (layer) of the library.
#include "bridge.hpp"

namespace meniscus::bindings {

// Each is defined in the file of its name; here, so that a new one compiles two files and not all.
void bind_core(py::module_& m);
void bind_numerics(py::module_& m);
void bind_rotation(py::module_& m);
void bind_solve(py::module_& m);
void bind_communicators(py::module_& m);
void bind_grid(py::module_& m);
void bind_fields(py::module_& m);
void bind_solid_boundary(py::module_& m);
void bind_masked_samples(py::module_& m);
void bind_transport(py::module_& m);
void bind_poisson(py::module_& m);
void bind_particles(py::module_& m);
void bind_exchange(py::module_& m);
void bind_watertight(py::module_& m);
void bind_mesh_topology(py::module_& m);
void bind_tet_samples(py::module_& m);
void bind_mesh_queries(py::module_& m);
void bind_collision_mesh(py::module_& m);
void bind_contact(py::module_& m);
void bind_contact_resolver(py::module_& m);
void bind_barrier(py::module_& m);
void bind_ray_casting(py::module_& m);
void bind_point_location(py::module_& m);
void bind_continuous_collision(py::module_& m);
void bind_ccd_comparison(py::module_& m);
void bind_predicates(py::module_& numerics, py::module_& collision);
void bind_meshing(py::module_& mesh, py::module_& surface);
void bind_mesh_distance(py::module_& m);
void bind_tetrahedra(py::module_& m);
void bind_reconstruction(py::module_& m);
void bind_extraction(py::module_& m);
void bind_shapes(py::module_& m);
void bind_mesh_sampling(py::module_& m);
void bind_particle_levelset(py::module_& m);
void bind_particle_removal(py::module_& m);
void bind_redistance(py::module_& m);
void bind_procedural_flow(py::module_& m);
void bind_pressure(py::module_& m);
void bind_viscosity(py::module_& m);
void bind_buoyancy(py::module_& m);
void bind_liquid(py::module_& m);
void bind_emission(py::module_& m);
void bind_volume_budget(py::module_& m);
void bind_liquid_exchange(py::module_& m);
void bind_liquid_seeding(py::module_& m);
void bind_particle_liquid(py::module_& m);
void bind_vorticity(py::module_& m);
void bind_tet_vof(py::module_& m);
void bind_tet_projection(py::module_& m);
void bind_force(py::module_& m);
void bind_deformable_body(py::module_& m);
void bind_springs(py::module_& m);
void bind_position_body(py::module_& m);
void bind_rigid_body(py::module_& m);
void bind_rigid_system(py::module_& m);
void bind_reduced_body(py::module_& m);
void bind_positions_world(py::module_& m);
void bind_strain_limiting(py::module_& m);
void bind_finite_elements(py::module_& m);
void bind_tet_owners(py::module_& m);

}  // namespace meniscus::bindings

PYBIND11_MODULE(_meniscus, m) {
  using namespace meniscus::bindings;
  m.doc() =
      "The compiled core of meniscus. Import the package `meniscus` instead; its functions check and document what these expect.";
  m.attr("__version__") = MENISCUS_VERSION;
  py::register_exception<meniscus::WrongType>(m, "WrongType", PyExc_TypeError);

  wait_for_threads_at_exit();

  auto core = m.def_submodule("core", "Threads, vector width, memory.");
  bind_core(core);
  auto numerics = m.def_submodule("numerics", "Numerical building blocks.");
  bind_numerics(numerics);
  bind_rotation(numerics);
  bind_solve(numerics);
  auto parallel = m.def_submodule("parallel", "Ranks that exchange messages.");
  bind_communicators(parallel);
  auto grid = m.def_submodule("grid", "Grids, fields, transport, particles.");
  bind_grid(grid);
  bind_fields(grid);
  bind_solid_boundary(grid);
  bind_masked_samples(grid);
  bind_transport(grid);
  bind_poisson(grid);
  bind_particles(grid);
  bind_exchange(grid);
  auto mesh = m.def_submodule("mesh", "Meshes of segments, triangles and tetrahedra.");
  bind_watertight(mesh);
  bind_mesh_topology(mesh);
  bind_tet_samples(mesh);
  auto collision = m.def_submodule("collision", "Proximity of meshes and points.");
  bind_mesh_queries(collision);
  bind_predicates(numerics, collision);
  bind_ray_casting(collision);
  bind_point_location(collision);
  bind_continuous_collision(collision);
  bind_ccd_comparison(collision);
  bind_collision_mesh(collision);
  bind_contact(collision);
  bind_contact_resolver(collision);
  bind_barrier(collision);
  auto surface = m.def_submodule("surface", "Implicit surfaces.");
  bind_mesh_distance(surface);
  bind_tetrahedra(surface);
  bind_reconstruction(surface);
  bind_shapes(surface);
  bind_mesh_sampling(surface);
  bind_particle_levelset(surface);
  bind_particle_removal(surface);
  bind_redistance(surface);
  bind_meshing(mesh, surface);
  bind_extraction(surface);
  auto fluids = m.def_submodule("fluids", "Fluid solvers and flows.");
  bind_procedural_flow(fluids);
  bind_vorticity(fluids);
  bind_pressure(fluids);
  bind_viscosity(fluids);
  bind_buoyancy(fluids);
  bind_liquid(fluids);
  bind_emission(fluids);
  bind_volume_budget(fluids);
  bind_particle_liquid(fluids);
  bind_tet_vof(fluids);
  bind_liquid_exchange(fluids);
  bind_liquid_seeding(fluids);
  bind_tet_projection(fluids);
  auto solids = m.def_submodule("solids", "Deformable bodies and their forces.");
  bind_force(solids);
  bind_deformable_body(solids);
  bind_springs(solids);
  bind_position_body(solids);
  bind_rigid_body(solids);
  bind_rigid_system(solids);
  bind_strain_limiting(solids);
  bind_finite_elements(solids);
  bind_reduced_body(solids);
  bind_positions_world(solids);
  auto coupling = m.def_submodule("coupling", "Solids and fluids together.");
  bind_tet_owners(coupling);
}
