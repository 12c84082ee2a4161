#include "meniscus/fluids/particles/particle_outflow.hpp"

#include "meniscus/grid/particles/particle_migration.hpp"
#include "meniscus/parallel/joint_reductions.hpp"

namespace meniscus::fluids {

template <class T, int D>
grid::FateCounts apply_boundary_and_remove(const grid::Grid<D>& grid, const grid::ParticleBoundary<D>& boundary,
                                           grid::ParticleSet& particles, Workspace& workspace) {
  const auto left = workspace.take<std::uint8_t>(particles.size());
  grid::FateCounts counts = grid::apply_particle_boundary<T, D>(grid, boundary, particles, left.data(), workspace);
  if (counts.left > 0) particles.remove(left.data(), workspace);
  if (!grid.block().cut()) return counts;
  grid::migrate_particles<D>(particles, grid, workspace);
  parallel::add_up(*grid.communicator(), {&counts.pushed, &counts.in_solid, &counts.left});
  return counts;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                  \
  template grid::FateCounts apply_boundary_and_remove<T, D>(const grid::Grid<D>&, const grid::ParticleBoundary<D>&, \
                                                            grid::ParticleSet&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
