/// Vorticity confinement: a body force that spins up the vorticity that the grid still carries (Selle 2008, section 3.2.1;
/// Guendelman et al. 2005, section 4.1).
#pragma once

#include "meniscus/grid/solid_boundary.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::fluids {

/// Adds dt * epsilon * h * (N x omega) to the velocity, with N = grad|omega| / |grad|omega||, all at cell centres and averaged to
/// the faces. Faces whose normal velocity is given keep it.
///
/// N is undefined where |omega| is flat. It is taken as zero where |grad|omega|| is not above the larger of 1e-6 max|omega| / h
/// and 16 e max|u| / h^2 (e: the rounding unit of T). The latter bounds the effect of round-off in the velocities, so that a
/// rigid rotation feels no force at all.
///
/// `solid` may be null. Cells whose centre lies in it exert no force, and stand in |omega| for the
/// cell that looks at them; a face between such a cell and a free one takes the force of the free one.
///
/// `walls` may be null. No cell looks across them; faces that they block must hold their velocity, and what is added there means
/// nothing: a projection gives them that velocity again.
///
/// The velocity is unchanged if anything is thrown: InvalidArgument for values that are not finite; Interrupted.
template <class T, int D>
void add_vorticity_confinement(grid::MacField<T, D>& velocity, double dt, double epsilon, const grid::SolidBoundary<T, D>* solid,
                               double time, Workspace& workspace, const grid::ThinWalls<D>* walls = nullptr);

}  // namespace meniscus::fluids
