/// Force of vortex particles on the flow: each one spins up the grid around itself (Selle 2008, section 3.4.2).
#pragma once

#include "meniscus/fluids/vorticity/vortex_particles.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::fluids {

/// Kernel that spreads the vorticity of a particle of radius r, as a function of the distance d; zero beyond r.
enum class VortexKernel {
  gaussian,  ///< exp(-d^2 / (2 r^2)) / (r^D (2 pi)^(D/2)), cut off at r as printed, so that .199 of its mass is left in 3-D
  tent,      ///< 1 - d / r, of mass one: times 3 / (pi r^D) in either dimension
};

struct VortexForcing {
  VortexKernel kernel = VortexKernel::gaussian;
  /// Subtract from the force of each particle its sum over the faces, spread like its kernel. (The exact force integrates to
  /// zero; sampled on faces it does not, unless the particle sits in a centre of symmetry.)
  bool balance = true;
  /// Weaken each particle by the vorticity that the grid already has at its place; components whose sign would flip are zero.
  bool reduce = false;
  double time = 0.0;
};

/// Adds dt * F to the velocity, F = epsilon (N x kernel * w) with N = (x_p - x) / |x_p - x|: every component at the centres of
/// its own faces, zero within 1e-4 cells of the particle. Faces whose normal velocity is given keep it. `epsilons`: one per
/// particle, or nullptr.
///
/// The particles act in the order of their ids: neither the order in which they are stored nor the number of threads changes a
/// bit. Collective on a domain that is cut into blocks: each block hands in the particles that lie in it. The velocity is
/// unchanged if anything is thrown: InvalidArgument for values that are not finite, a radius that is not positive or larger than
/// the domain; Interrupted.
///
/// With `walls`, of a grid of one block, particles act on faces that they see, and on none that a wall blocks.
template <class T, int D>
void add_vortex_forces(grid::MacField<T, D>& velocity, grid::ParticleSet& particles, double dt, double epsilon,
                       const double* epsilons, const VortexForcing& options, Workspace& workspace,
                       const grid::ThinWalls<D>* walls = nullptr);

}  // namespace meniscus::fluids
