/// Correction of a level set by marker particles on its wrong side (Enright, Fedkiw, Ferziger and Mitchell, "A hybrid particle
/// level set method for improved interface capturing", 2002, sections 3.3 and 3.4).
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::surface {

struct Correction {
  Index outside = 0;  ///< escaped particles of the outside (+1)
  Index inside = 0;   ///< escaped particles of the inside (-1)
};

/// A particle of sign s and radius r at x has escaped where -s phi(x) > escape_distance * r. Every escaped particle is a ball
/// with the level set s (r - |X - x|) at the samples X around it. At each sample, take the largest of phi and the values of
/// outside particles, and the smallest of phi and the values of inside particles; the one of smaller magnitude becomes the new
/// value. Escaped particles are used at the samples of the grid only. The result does not depend on the order of the particles,
/// nor on threads. Nothing is changed if anything is thrown.
template <class T, int D>
Correction correct_by_particles(grid::Field<T, D>& phi, grid::ParticleSet& particles, double escape_distance, double time,
                                Workspace& workspace);

}  // namespace meniscus::surface
