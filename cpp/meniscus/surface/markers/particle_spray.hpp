/// Spray: marker particles that were removed from their level set, and their reincorporation (Enright,
/// Marschner and Fedkiw, "Animation and rendering of complex water surfaces", 2002; Guendelman, Selle, Losasso and Fedkiw,
/// "Coupling water and smoke to thin deformable and rigid shells", 2005).
#pragma once

#include "meniscus/numerics/sums/binned_sum.hpp"
#include "meniscus/surface/markers/particle_radii.hpp"

namespace meniscus::surface {

/// Number of particles that a stage moved from one set to another, and the volume of their balls (m^3; m^2 in 2-D).
struct Transfer {
  Index count = 0;
  double volume = 0.0;
};

/// Collective: the same of all blocks; the sum of volumes does not depend on their order.
Transfer transfer_of_all(parallel::Communicator& communicator, Index count, const numerics::BinnedSum& volume);

/// Flags of the removed particles of a sign (spray: -1, bubbles: +1) that are back on their side: s phi(x) >= -fraction * r.
template <class T, int D>
Workspace::Lease<std::uint8_t> flag_returned(grid::Field<T, D>& phi, grid::ParticleSet& removed, int sign, double fraction,
                                             double time, Workspace& workspace);

struct Reincorporation : Transfer {
  std::array<double, 3> momentum{};  ///< of the particles, per density: volume * velocity * scale
};

/// How a velocity receives the momentum of particles that become markers again.
enum class Deposit : std::uint8_t {
  momentum,  ///< all of it, as if the liquid in the cell kept its mass
  mean,      ///< with the mass that it belongs to: the velocity becomes the mean of both, weighted by volume
  liquid,    ///< to the liquid around, by its mass, in excess of the velocity that it has there
};

/// Makes markers of the removed particles that `flag_returned` flags, with radii within the bounds. Where `velocity` is given,
/// each of the two faces per axis a of the cell of such a particle receives w v_a, with w = 0.5 * scale * V_ball / V_cell; the
/// mean divides the sum by 1 + w. With `Deposit::liquid`, the faces beside liquid up to one cell away take a part
/// scale * V_ball / V_liquid of the difference to v_a, V_liquid being the volume of liquid around them all. This is done one
/// particle after the other, in the order of cells and ids. Nothing is changed if anything is thrown. Collective: particles must
/// lie in the block that has them; those next to a cut are gathered by all blocks.
template <class T, int D>
Reincorporation reincorporate(grid::Field<T, D>& phi, grid::ParticleSet& removed, int sign, grid::ParticleSet& markers,
                              double fraction, const RadiusBounds& bounds, grid::MacField<T, D>* velocity, double scale,
                              Deposit deposit, double time, Workspace& workspace);

/// Collective: sum of the volumes of balls with the given radii, in all blocks.
template <class T, int D>
double total_volume(parallel::Communicator& communicator, const T* radius, Index n);

}  // namespace meniscus::surface
