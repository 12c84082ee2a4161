#include "meniscus/fluids/particles/particle_departure.hpp"

namespace meniscus::fluids {

template <class T, int D>
ParticleBoundaryInfo apply_boundary_and_remove(grid::ParticleSet& particles, const grid::Grid<D>& grid,
                                               const std::array<bool, 2 * D>& open, const grid::Field<double, D>* solid,
                                               Workspace& workspace) {
  const auto left = workspace.take<std::uint8_t>(particles.size());
  const ParticleBoundaryInfo info = apply_particle_boundary<T, D>(particles, grid, open, solid, left.data());
  if (info.left > 0) particles.remove(left.data(), workspace);
  return info;
}

#define MENISCUS_INSTANTIATE(T, D)                               \
  template ParticleBoundaryInfo apply_boundary_and_remove<T, D>( \
      grid::ParticleSet&, const grid::Grid<D>&, const std::array<bool, 2 * D>&, const grid::Field<double, D>*, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
