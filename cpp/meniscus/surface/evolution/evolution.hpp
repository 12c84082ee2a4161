/// Motion of level sets: phi_t + u . grad phi + F |grad phi| = b k |grad phi|, with a velocity u, a speed F along the normals and
/// a speed -b k by the mean curvature k (sum of the principal curvatures).
///
/// Space: weighted ENO of fifth order (Jiang and Peng 2000), upwind for u, with Godunov's Hamiltonian for F, and central
/// differences of second order for k. Time: Runge-Kutta of third order that is total variation diminishing (Shu and Osher 1988).
/// Source: Brochu 2012, sections 3.3.1 and 3.3.2 (level sets beside explicit surfaces); Osher and Fedkiw 2003, chapters 3 to 6.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

#include <limits>

namespace meniscus::surface {

/// What moves a level set; all terms may act together.
template <class T, int D>
struct MotionTerms {
  /// m/s, on faces; its ghosts are filled. Means of the nearest faces at the samples. Or nullptr.
  const grid::MacField<T, D>* velocity = nullptr;
  /// m/s, speeds outwards at the samples, in addition to `speed`. Or nullptr.
  const grid::Field<T, D>* speeds = nullptr;
  /// m/s, outwards.
  double speed = 0.0;
  /// b, m^2/s, not negative. Curvatures are clamped to +-1 / spacing. Where the central gradient vanishes, k |grad phi| is the
  /// mean over its directions, and the bound takes the steepest one-sided differences.
  double curvature = 0.0;
};

struct EvolutionOptions {
  /// Share of the largest stable step of the terms together, 1 / (sum |u_d| / h + sqrt(D) |F| / h + 2 D b / h^2).
  double cfl = 0.5;
  /// Metres, at least 6 spacings: samples farther from the surface rest, motion fades out over the outer half (Peng et al. 1999),
  /// and after every step the distances are restored. Infinite: everywhere, as it is.
  double band = std::numeric_limits<double>::infinity();
};

/// Moves phi (cells or nodes) for `duration` seconds, in equal steps, whose number is returned. Beyond sides of the domain phi is
/// continued linearly, whatever its boundary conditions are; ghosts are not filled. When anything is thrown, phi is unchanged.
///
/// In a domain cut into blocks all blocks call together, with results bit-identical to those of a single block.
template <class T, int D>
Index evolve(grid::Field<T, D>& phi, double duration, const MotionTerms<T, D>& terms, const EvolutionOptions& options,
             Workspace& workspace);

}  // namespace meniscus::surface
