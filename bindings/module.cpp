#include "bridge.hpp"

PYBIND11_MODULE(_meniscus, m) {
  using namespace meniscus::bindings;
  m.doc() =
      "The compiled core of meniscus. Import the package `meniscus` instead; its functions check and document what these expect.";
  m.attr("__version__") = MENISCUS_VERSION;
  py::register_exception<meniscus::WrongType>(m, "WrongType", PyExc_TypeError);

  auto core = m.def_submodule("core", "Threads, vector width, memory.");
  bind_core(core);
  auto numerics = m.def_submodule("numerics", "Numerical building blocks.");
  bind_numerics(numerics);
  auto grid = m.def_submodule("grid", "Grids, fields, transport, particles.");
  bind_grid(grid);
  bind_fields(grid);
  bind_transport(grid);
  bind_particles(grid);
  auto mesh = m.def_submodule("mesh", "Meshes of segments, triangles and tetrahedra.");
  bind_mesh(mesh);
  bind_tet_mesh(mesh);
  auto collision = m.def_submodule("collision", "Proximity of meshes and points.");
  bind_collision(collision);
  bind_ray_casting(collision);
  bind_point_location(collision);
  bind_continuous_collision(collision);
  bind_predicates(numerics, collision);
  bind_collision_mesh(collision);
  auto surface = m.def_submodule("surface", "Implicit surfaces.");
  bind_mesh_distance(surface);
  bind_shapes(surface);
  bind_meshing(mesh, surface);
  auto fluids = m.def_submodule("fluids", "Fluid solvers and flows.");
  bind_fluids(fluids);
  bind_vorticity(fluids);
  bind_poisson(numerics, grid, fluids);
  bind_gas(fluids);
}
